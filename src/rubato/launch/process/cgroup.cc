#include "rubato/launch/process/cgroup.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/base/parse.h"

namespace rubato {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool write_text(const std::string& path, const std::string& text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.is_open() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool has_word(const std::string& text, std::string_view word) {
  std::istringstream words(text);
  for (std::string each; words >> each;) {
    if (each == word) {
      return true;
    }
  }
  return false;
}

// Where cgroup v2 is mounted; empty if it is not. A line: `30 23 0:26 / /sys/fs/cgroup rw -
// cgroup2`.
std::string mount_point(const std::string& mounts) {
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - cgroup2 ");
    if (dash != std::string::npos) {
      std::istringstream fields(line);
      std::string field;
      for (int i = 0; i < 5; ++i) {
        fields >> field;
      }
      return field;
    }
  }
  return {};
}

// Our own cgroup in the hierarchy of version 2, from its line `0::/path`; empty if there is none.
std::string own_path(const std::string& own) {
  std::istringstream lines(own);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::")) {
      return line.substr(3) == "/" ? "" : line.substr(3);
    }
  }
  return {};
}

Error not_permitted(const std::string& what) {
  return Error{.code = ErrorCode::Io, .message = fmt::format("{}: {}", what, std::strerror(errno))};
}

// The kernel hands controllers down only from a cgroup that holds no process itself, the topmost
// one excepted; we then move ourselves to a leaf, as whoever delegates a cgroup expects.
bool hand_down(const std::string& folder, const std::string& controllers) {
  if (write_text(folder + "/cgroup.subtree_control", controllers)) {
    return true;
  }
  const std::string leaf = folder + "/rubato";
  if (errno != EBUSY || (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST)) {
    return false;
  }
  return write_text(leaf + "/cgroup.procs", "0") &&
         write_text(folder + "/cgroup.subtree_control", controllers);
}

}  // namespace

IsolationSupport isolation_support(const CgroupPlaces& places) {
  IsolationSupport support;
  support.has_user_namespaces = parse_int(trimmed(text_of(places.user_namespaces))).value_or(0) > 0;
  const std::string mount = mount_point(text_of(places.mounts));
  if (mount.empty()) {
    support.note = "no CPU or memory limits per worker: cgroup v2 is not mounted";
    return support;
  }
  const std::string folder = mount + own_path(text_of(places.own));
  const std::string controllers = text_of(folder + "/cgroup.controllers");
  if (::access(folder.c_str(), W_OK) != 0 ||
      ::access((folder + "/cgroup.subtree_control").c_str(), W_OK) != 0) {
    support.note =
        fmt::format("no CPU or memory limits per worker: {} is not ours to divide", folder);
    return support;
  }
  support.has_cpu_weights = has_word(controllers, "cpu");
  support.has_memory_limits = has_word(controllers, "memory");
  if (support.has_cpu_weights || support.has_memory_limits) {
    support.folder = folder;
  }
  if (!support.has_cpu_weights || !support.has_memory_limits) {
    support.note = fmt::format("no {} per worker: {} has no such controller",
                               support.has_cpu_weights     ? "memory limits"
                               : support.has_memory_limits ? "CPU weights"
                                                           : "CPU weights or memory limits",
                               folder);
  }
  return support;
}

Result<WorkerCgroup> WorkerCgroup::create(const IsolationSupport& support, const std::string& name,
                                          const CgroupLimits& limits) {
  if (support.folder.empty()) {
    return Error{.code = ErrorCode::Io, .message = support.note};
  }
  const std::string controllers = fmt::format("{}{}", support.has_cpu_weights ? "+cpu " : "",
                                              support.has_memory_limits ? "+memory" : "");
  if (!hand_down(support.folder, controllers)) {
    return not_permitted(fmt::format("{} cannot be divided", support.folder));
  }
  const std::string folder = support.folder + "/" + name;
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return not_permitted(fmt::format("cannot make {}", folder));
  }
  // Removed again if one of the following fails.
  WorkerCgroup cgroup(folder, Descriptor());
  if (limits.cpu_weight && support.has_cpu_weights &&
      !write_text(folder + "/cpu.weight", std::to_string(*limits.cpu_weight))) {
    return not_permitted(fmt::format("{}/cpu.weight", folder));
  }
  if (limits.memory_bytes && support.has_memory_limits &&
      !write_text(folder + "/memory.max", std::to_string(*limits.memory_bytes))) {
    return not_permitted(fmt::format("{}/memory.max", folder));
  }
  cgroup.procs_ = Descriptor(::open(cgroup.procs_path().c_str(), O_WRONLY | O_CLOEXEC));
  if (!cgroup.procs_.is_open()) {
    return not_permitted(cgroup.procs_path());
  }
  return cgroup;
}

WorkerCgroup::WorkerCgroup(WorkerCgroup&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), procs_(std::move(other.procs_)) {}

WorkerCgroup& WorkerCgroup::operator=(WorkerCgroup&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(procs_, other.procs_);
  return *this;
}

WorkerCgroup::~WorkerCgroup() {
  if (!folder_.empty()) {
    kill();
    ::rmdir(folder_.c_str());
  }
}

int WorkerCgroup::oom_kills() const {
  return static_cast<int>(counter_in(text_of(folder_ + "/memory.events"), "oom_kill"));
}

void WorkerCgroup::kill() const { (void)write_text(folder_ + "/cgroup.kill", "1"); }

std::int64_t counter_in(std::string_view text, std::string_view name) {
  std::istringstream lines{std::string(text)};
  for (std::string key, value; lines >> key >> value;) {
    if (key == name) {
      return parse_int(value).value_or(0);
    }
  }
  return 0;
}

int machine_oom_kills() {
  return static_cast<int>(counter_in(text_of("/proc/vmstat"), "oom_kill"));
}

}  // namespace rubato
