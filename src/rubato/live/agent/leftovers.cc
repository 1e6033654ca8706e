#include "rubato/live/agent/leftovers.h"

#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "rubato/launch/process/pidfd.h"
#include "rubato/launch/process/process_file.h"

namespace rubato {
namespace {

// What a process was started with; empty if it is not ours to see, or has ended.
bool belongs_to(pid_t pid, const std::string& assignment) {
  const std::string text = process_file(pid, "environ");
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    if (rest.substr(0, end) == assignment) {
      return true;
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return false;
}

std::string assignment_of(const std::string& directory) {
  return "RUBATO_JOB_DIRECTORY=" + directory;
}

}  // namespace

std::vector<pid_t> processes_of_job(const std::string& directory) {
  std::vector<pid_t> found;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec == std::errc{} && parsed.ptr == name.data() + name.size() &&
        belongs_to(pid, assignment_of(directory))) {
      found.push_back(pid);
    }
  }
  return found;
}

bool end_leftovers(const std::string& directory) {
  const std::vector<pid_t> left = processes_of_job(directory);
  for (const pid_t pid : left) {
    const Descriptor process = open_pidfd(pid);
    // Looked at again: the number may have been given to someone else.
    if (process.is_open() && belongs_to(pid, assignment_of(directory))) {
      signal_pidfd(process.get(), SIGKILL);
    }
  }
  return left.empty();
}

}  // namespace rubato
