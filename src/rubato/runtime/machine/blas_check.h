// Which environment variables workers need so that matrix products are fast. OpenBLAS 0.3.21 takes
// processors that are newer than itself for a Prescott of 2004, and is four times slower for it;
// and threads that nobody counted are started by every worker on every core.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

/// One variable to set for workers.
struct WorkerVariable {
  std::string name{};
  std::string value{};

  friend bool operator==(const WorkerVariable&, const WorkerVariable&) = default;
};

/// What to set, and why.
struct BlasSettings {
  std::vector<WorkerVariable> variables{};
  std::vector<std::string> remarks{};  // A sentence for each decision, left to the user or ours.
};

/// The name OpenBLAS has for the best kernels that every processor in the text of /proc/cpuinfo can
/// run; empty if it should choose itself. Kernels for instructions newer than AVX-512 are not
/// chosen: an old OpenBLAS may not have them.
[[nodiscard]] std::string_view openblas_core_type(std::string_view cpuinfo);

/// Settings for workers that may use so many threads each. `environment` is what workers inherit,
/// as "NAME=value"; whatever is set there, even to nothing, is left as it is.
[[nodiscard]] BlasSettings blas_settings(std::string_view cpuinfo,
                                         std::span<const std::string_view> environment,
                                         int threads = 1);

}  // namespace rubato
