// A self-test of matrix products: with a wrong BLAS everything works, many times slower than it
// could.
#pragma once

#include <string>
#include <string_view>

namespace rubato {

/// Billions of floating-point operations a second in single-precision matrix products, one thread;
/// takes a few hundredths of a second.
[[nodiscard]] double matrix_gigaflops();

/// What to tell the user of such a speed on a processor that /proc/cpuinfo describes so; empty if
/// it is fine.
[[nodiscard]] std::string slow_matrix_warning(double gigaflops, std::string_view cpuinfo);

}  // namespace rubato
