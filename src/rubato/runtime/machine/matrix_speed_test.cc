#include "rubato/runtime/machine/matrix_speed.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

constexpr const char* kNew = "flags : sse2 avx avx2 fma avx512f\n";
constexpr const char* kOlder = "flags : sse2 avx avx2 fma\n";
constexpr const char* kOldest = "flags : sse2\n";

TEST(MatrixSpeed, WarnsOfTheReferenceBlasAndOfOldKernels) {
  EXPECT_NE(slow_matrix_warning(3, kOldest).find("3.0 billion"), std::string::npos);
  EXPECT_NE(slow_matrix_warning(20, kOlder).find("OPENBLAS_CORETYPE"), std::string::npos);
  EXPECT_NE(slow_matrix_warning(33, kNew), "");
}

TEST(MatrixSpeed, SaysNothingWhereProductsAreAsFastAsTheProcessor) {
  EXPECT_EQ(slow_matrix_warning(20, kOldest), "");
  EXPECT_EQ(slow_matrix_warning(33, kOlder), "");
  EXPECT_EQ(slow_matrix_warning(140, kNew), "");
}

}  // namespace
}  // namespace rubato
