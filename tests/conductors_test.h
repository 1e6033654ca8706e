// The processes `rubato conduct`, which outlive the platform that started them.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "rubato/launch/process/process_file.h"

namespace rubato {

/// Of the job that has this folder, or of all jobs in it.
inline std::vector<pid_t> conductors_of(const std::string& folder) {
  const std::string begin = std::string("conduct\0", 8) + folder;
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    const std::string words = process_file(std::stoi(name), "cmdline");
    const std::size_t at = words.find(begin);
    if (at != std::string::npos && at + begin.size() < words.size() &&
        std::string_view("\0/", 2).find(words[at + begin.size()]) != std::string_view::npos) {
      found.push_back(std::stoi(name));
    }
  }
  return found;
}

/// Their guards then end the workers.
inline void kill_conductors_of(const std::string& folder) {
  for (const pid_t pid : conductors_of(folder)) {
    ::kill(pid, SIGKILL);
  }
}

}  // namespace rubato
