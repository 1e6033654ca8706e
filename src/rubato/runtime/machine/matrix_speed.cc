#include "rubato/runtime/machine/matrix_speed.h"

#include <fmt/format.h>

namespace rubato {
namespace {

// What the processor should reach at least, by its widest vectors. The reference BLAS reaches 3,
// OpenBLAS with its kernels of 2004 about 20.
double expected_gigaflops(std::string_view cpuinfo) {
  constexpr double kAvx512 = 45;
  constexpr double kAvx2 = 25;
  constexpr double kOther = 5;
  if (cpuinfo.find(" avx512f") != std::string_view::npos) {
    return kAvx512;
  }
  return cpuinfo.find(" avx2") != std::string_view::npos ? kAvx2 : kOther;
}

}  // namespace

std::string slow_matrix_warning(double gigaflops, std::string_view cpuinfo) {
  if (gigaflops >= expected_gigaflops(cpuinfo)) {
    return "";
  }
  return fmt::format(
      "WARNING: matrix products run at {:.1f} billion operations a second on this machine, which "
      "is what a BLAS without the right kernels reaches. Install libopenblas0-pthread; if it is "
      "there, set OPENBLAS_CORETYPE (such as Haswell or SkylakeX) to what the processor is.",
      gigaflops);
}

}  // namespace rubato
