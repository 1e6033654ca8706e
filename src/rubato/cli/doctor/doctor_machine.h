// Is this machine fit for training? Each check looks, and says what to do if it is not.
#pragma once

#include <cstdint>
#include <string>

#include "rubato/base/result.h"
#include "rubato/cli/doctor/doctor_finding.h"
#include "rubato/launch/environment.h"
#include "rubato/launch/process/cgroup.h"
#include "rubato/live/agent/slots.h"

namespace rubato {

struct DoctorPlaces {
  std::string python{};  // Empty: python3, or Debian's own if only that has torch.
  std::string state_directory{};
  std::string shared_memory = "/dev/shm";
};

/// All of them; looks at nothing but this machine, and leaves nothing behind.
[[nodiscard]] DoctorFindings examine_machine(const DoctorPlaces& places);

// What the looks come to.

/// As `examine_machine` does, the interpreter alone.
[[nodiscard]] DoctorFindings examine_python(const std::string& named);
/// From what our question to the Python interpreter printed; `python` is its name.
[[nodiscard]] DoctorFindings python_findings(const std::string& python,
                                             const Result<std::string>& answer);
[[nodiscard]] DoctorFinding gpu_finding(const Result<GpuListing>& listing);
[[nodiscard]] DoctorFinding isolation_finding(const IsolationSupport& support);

/// A file system as `statvfs` and a few writes show it.
struct DiskLook {
  std::string path{};
  std::uint64_t free_bytes = 0;
  double fsync_seconds = 0;  // The middle of a few.
  std::string problem{};     // Why it cannot be written; empty if it can.
};
[[nodiscard]] DoctorFinding disk_finding(const DiskLook& look);
[[nodiscard]] DoctorFinding shared_memory_finding(const DiskLook& look);

/// The clock as the kernel sees it.
struct ClockLook {
  bool is_synchronised = true;
  std::int64_t unix_seconds = 0;
};
[[nodiscard]] DoctorFinding clock_finding(const ClockLook& look);

}  // namespace rubato
