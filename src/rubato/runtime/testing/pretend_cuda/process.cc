#include "rubato/runtime/testing/pretend_cuda/process.h"

#include <array>
#include <cstdlib>
#include <pthread.h>
#include <sstream>

namespace rubato::runtime::testing {
namespace {

constexpr int kStreamsBeside = 32;

thread_local int thread_device = 0;
thread_local std::array<std::int64_t, kDevicesMax> thread_streams{};

void before_fork() {
  PretendedProcess& process = pretended();
  process.streams.lock();
  process.memory.lock();
  process.pinned.lock();
}

void after_fork() {
  PretendedProcess& process = pretended();
  process.pinned.unlock();
  process.memory.unlock();
  process.streams.unlock();
}

void after_fork_in_child() {
  after_fork();
  PretendedProcess& process = pretended();
  process.in_bad_fork = process.in_bad_fork || process.used;
}

std::string from_environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

}  // namespace

PretendedProcess& pretended() {
  static PretendedProcess* const process = [] {
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
    return new PretendedProcess();
  }();
  return *process;
}

const std::vector<char>& PretendedProcess::kinds() {
  static const std::vector<char> found = kinds_of_devices();
  return found;
}

std::vector<char> kinds_of_devices() {
  const std::string machine = from_environment("RUBATO_PRETEND_CUDA_DEVICES", "A");
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<char> kinds;
  if (visible == nullptr) {
    kinds.assign(machine.begin(), machine.end());
  } else {
    // As with CUDA, nothing behind the first entry that names no device counts.
    std::istringstream entries(visible);
    for (std::string entry; std::getline(entries, entry, ',');) {
      char* end = nullptr;
      const std::size_t index = std::strtoul(entry.c_str(), &end, 10);
      if (entry.empty() || *end != '\0' || index >= machine.size()) {
        break;
      }
      kinds.push_back(machine[index]);
    }
  }
  kinds.resize(std::min<std::size_t>(kinds.size(), kDevicesMax));
  return kinds;
}

std::string why_unusable(int device) {
  PretendedProcess& process = pretended();
  if (process.in_bad_fork) {
    return "CUDA error: initialization error. Cannot re-initialize CUDA in forked subprocess. To "
           "use CUDA with multiprocessing, you must use the 'spawn' start method";
  }
  if (device < 0 || static_cast<std::size_t>(device) >= process.kinds().size()) {
    return "CUDA error: invalid device ordinal";
  }
  if (process.lost_device == device) {
    return "CUDA error: unspecified launch failure";
  }
  process.used = true;
  return {};
}

int selected_device() { return thread_device; }

void select_device(int device) { thread_device = device; }

StreamName selected_stream(int device) {
  return {.device = device, .id = thread_streams.at(static_cast<std::size_t>(device))};
}

void select_stream(const StreamName& stream) {
  thread_streams.at(static_cast<std::size_t>(stream.device)) = stream.id;
}

StreamName next_stream(int device) {
  static std::atomic<int> taken = 0;
  return {.device = device, .id = 1 + taken++ % kStreamsBeside};
}

}  // namespace rubato::runtime::testing
