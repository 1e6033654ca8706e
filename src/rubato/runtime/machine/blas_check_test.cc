#include "rubato/runtime/machine/blas_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

constexpr std::string_view kSapphireRapids =
    "processor\t: 0\n"
    "vendor_id\t: GenuineIntel\n"
    "cpu family\t: 6\n"
    "model\t\t: 143\n"
    "model name\t: Intel(R) Xeon(R) Processor\n"
    "flags\t\t: fpu sse sse2 avx fma avx2 bmi1 bmi2 avx512f avx512dq avx512cd avx512bw avx512vl "
    "avx512_bf16 amx_tile\n"
    "bugs\t\t: spectre_v1\n";

std::string cpuinfo(std::string_view vendor, std::string_view flags) {
  return "processor\t: 0\nvendor_id\t: " + std::string(vendor) +
         "\nflags\t\t: " + std::string(flags) + "\n\n";
}

TEST(BlasCheck, ChoosesTheKernelsOfTheNewestInstructionsThatAllVersionsHave) {
  EXPECT_EQ(openblas_core_type(kSapphireRapids), "SkylakeX");
  EXPECT_EQ(openblas_core_type(cpuinfo("GenuineIntel", "avx avx2 fma bmi1 bmi2")), "Haswell");
  EXPECT_EQ(openblas_core_type(cpuinfo("AuthenticAMD", "avx avx2 fma bmi1 bmi2")), "Zen");
  EXPECT_EQ(openblas_core_type(cpuinfo("GenuineIntel", "sse4_2 avx")), "Sandybridge");
}

TEST(BlasCheck, LeavesOldAndForeignProcessorsToOpenBlas) {
  EXPECT_EQ(openblas_core_type(cpuinfo("GenuineIntel", "sse sse2 ssse3")), "");
  EXPECT_EQ(openblas_core_type("processor\t: 0\nFeatures\t: fp asimd sve\nCPU part : 0xd40\n"), "");
  EXPECT_EQ(openblas_core_type(""), "");
  EXPECT_EQ(openblas_core_type("flags"), "");
}

TEST(BlasCheck, NeedsEveryInstructionOfASet) {
  EXPECT_EQ(openblas_core_type(cpuinfo(
                "GenuineIntel", "avx avx2 fma bmi1 bmi2 avx512f avx512dq avx512cd avx512bw")),
            "Haswell");
  EXPECT_EQ(openblas_core_type(cpuinfo("GenuineIntel", "avx avx2 bmi1 bmi2")), "Sandybridge");
}

TEST(BlasCheck, ChoosesWhatAllProcessorsCanRun) {
  const std::string mixed =
      std::string(kSapphireRapids) + "\n" + cpuinfo("GenuineIntel", "avx avx2 fma bmi1 bmi2");

  EXPECT_EQ(openblas_core_type(mixed), "Haswell");
}

TEST(BlasCheck, SetsKernelsAndThreads) {
  const std::vector<std::string_view> environment = {"PATH=/usr/bin"};

  EXPECT_THAT(blas_settings(kSapphireRapids, environment).variables,
              testing::ElementsAre(WorkerVariable{"OPENBLAS_CORETYPE", "SkylakeX"},
                                   WorkerVariable{"OMP_NUM_THREADS", "1"},
                                   WorkerVariable{"OPENBLAS_NUM_THREADS", "1"}));
  EXPECT_THAT(blas_settings("", environment, 3).variables,
              testing::ElementsAre(WorkerVariable{"OMP_NUM_THREADS", "3"},
                                   WorkerVariable{"OPENBLAS_NUM_THREADS", "3"}));
}

TEST(BlasCheck, LeavesWhatTheUserSet) {
  const std::vector<std::string_view> environment = {"OPENBLAS_CORETYPE=Haswell",
                                                     "OMP_NUM_THREADS=", "OPENBLAS_NUM_THREADS=2"};

  const BlasSettings settings = blas_settings(kSapphireRapids, environment);

  EXPECT_TRUE(settings.variables.empty());
  EXPECT_THAT(settings.remarks, testing::Contains("OPENBLAS_CORETYPE is 'Haswell', as you set it"));
}

TEST(BlasCheck, LetsTheUsersThreadsHoldForBoth) {
  const std::vector<std::string_view> environment = {"OMP_NUM_THREADS=4", "OPENBLAS_CORETYPEX=1"};

  EXPECT_THAT(blas_settings(kSapphireRapids, environment).variables,
              testing::ElementsAre(WorkerVariable{"OPENBLAS_CORETYPE", "SkylakeX"},
                                   WorkerVariable{"OPENBLAS_NUM_THREADS", "4"}));
}

}  // namespace
}  // namespace rubato
