// Shares of CPU and memory for workers, where the system lets us hand them out: cgroup v2.
//
// Nothing here fails a job. What is not permitted is said in a note and left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// Where the kernel shows what there is; tests point it elsewhere.
struct CgroupPlaces {
  std::string own = "/proc/self/cgroup";
  std::string mounts = "/proc/self/mountinfo";
  std::string user_namespaces = "/proc/sys/user/max_user_namespaces";
};

/// What we may do to workers on this machine.
struct IsolationSupport {
  bool has_cpu_weights = false;
  bool has_memory_limits = false;
  bool has_user_namespaces = false;
  std::string folder{};  // The cgroup below which those of workers are made; empty: none.
  std::string note{};    // What is missing, and why; empty if nothing is.
};

[[nodiscard]] IsolationSupport isolation_support(const CgroupPlaces& places = {});

/// What one worker gets. What is not set is not limited.
struct CgroupLimits {
  std::optional<int> cpu_weight{};  // 1 to 10000; 100 is what others have.
  std::optional<std::int64_t> memory_bytes{};
};

/// The cgroup of one worker, removed with this object.
class WorkerCgroup {
 public:
  /// `name` is that of a folder. An error says what the system did not permit.
  [[nodiscard]] static Result<WorkerCgroup> create(const IsolationSupport& support,
                                                   const std::string& name,
                                                   const CgroupLimits& limits);

  WorkerCgroup(WorkerCgroup&& other) noexcept;
  WorkerCgroup& operator=(WorkerCgroup&& other) noexcept;
  WorkerCgroup(const WorkerCgroup&) = delete;
  WorkerCgroup& operator=(const WorkerCgroup&) = delete;
  ~WorkerCgroup();

  /// The file through which a process moves itself here, and its descriptor.
  [[nodiscard]] std::string procs_path() const { return folder_ + "/cgroup.procs"; }
  [[nodiscard]] int procs() const { return procs_.get(); }
  /// Processes in it that the kernel ended because memory ran out.
  [[nodiscard]] int oom_kills() const;
  /// Ends all that is in it, also what left the worker's process group.
  void kill() const;

 private:
  WorkerCgroup(std::string folder, Descriptor procs)
      : folder_(std::move(folder)), procs_(std::move(procs)) {}

  std::string folder_;
  Descriptor procs_;
};

/// The number behind `name` in a text of lines `name number`; 0 if it is not there.
[[nodiscard]] std::int64_t counter_in(std::string_view text, std::string_view name);

/// Processes of the whole machine that the kernel ended because memory ran out, since it started:
/// evidence where there is no cgroup of the worker.
[[nodiscard]] int machine_oom_kills();

}  // namespace rubato
