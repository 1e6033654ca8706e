#include "rubato/cli/demo/demo_victim.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>

#include "rubato/launch/process/process_file.h"
#include "rubato/live/agent/leftovers.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

// Ticks of processor time, from what follows the name in /proc/PID/stat.
long computed(pid_t pid) {
  constexpr int kBeforeUserTime = 11;
  const std::string text = process_file(pid, "stat");
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string skipped;
  for (int i = 0; i < kBeforeUserTime; ++i) {
    fields >> skipped;
  }
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return user + system;
}

// Workers carry the job's command as their name, also those that were forked from a warm process.
bool runs(pid_t pid, const wire::JobSpec& spec) {
  std::string words;
  for (const std::string& word : spec.command()) {
    words += word + '\0';
  }
  const std::string name = process_file(pid, "cmdline");
  return !name.empty() && std::string_view(words).substr(0, name.find_last_not_of('\0') + 1) ==
                              std::string_view(name).substr(0, name.find_last_not_of('\0') + 1);
}

// The process that conducts a job is started with its directory as an argument.
bool conducts(pid_t pid, const std::string& directory) {
  return process_file(pid, "cmdline").find(std::string("conduct\0", 8) + directory + '\0') !=
         std::string::npos;
}

std::vector<pid_t> conductors_of(const std::string& directory) {
  std::vector<pid_t> found;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator("/proc", failure)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      const auto pid = static_cast<pid_t>(std::stol(name));
      if (conducts(pid, directory)) {
        found.push_back(pid);
      }
    }
  }
  return found;
}

std::vector<std::string> job_directories(const std::string& jobs) {
  std::vector<std::string> found;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(jobs, failure)) {
    found.push_back(entry.path());
  }
  return found;
}

}  // namespace

std::optional<pid_t> busiest_worker(const std::string& directory, const wire::JobSpec& spec) {
  std::optional<pid_t> busiest;
  for (const pid_t pid : processes_of_job(directory)) {
    if (runs(pid, spec) && (!busiest || computed(pid) > computed(*busiest))) {
      busiest = pid;
    }
  }
  return busiest;
}

int processes_below(const std::string& jobs) {
  int count = 0;
  for (const std::string& directory : job_directories(jobs)) {
    count += static_cast<int>(processes_of_job(directory).size());
    count += static_cast<int>(conductors_of(directory).size());
  }
  return count;
}

void kill_below(const std::string& jobs) {
  for (const std::string& directory : job_directories(jobs)) {
    for (const pid_t pid : conductors_of(directory)) {
      ::kill(pid, SIGKILL);
    }
    (void)end_leftovers(directory);
  }
}

}  // namespace rubato
