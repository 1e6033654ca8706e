#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/cli/doctor/doctor_machine.h"
#include "rubato/cli/doctor/doctor_platform.h"

namespace rubato {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{100} << 30U;

const DoctorFinding& finding_of(const DoctorFindings& findings, const std::string& check) {
  const auto found = std::ranges::find(findings, check, &DoctorFinding::check);
  EXPECT_NE(found, findings.end()) << check;
  return *found;
}

TEST(Doctor, FailsOnlyIfSomethingFails) {
  const DoctorFinding good{.check = "a", .found = "well"};
  const DoctorFinding bad{
      .check = "b", .level = FindingLevel::Warn, .found = "slow", .remedy = "hurry"};
  const DoctorFinding worse{.check = "c", .level = FindingLevel::Fail, .remedy = "mend"};
  EXPECT_EQ(findings_exit_code(DoctorFindings{good, bad}), 0);
  EXPECT_EQ(findings_exit_code(DoctorFindings{good, worse, bad}), 1);
  EXPECT_THAT(findings_text(DoctorFindings{bad}, false), testing::HasSubstr("hurry"));
  const auto json = nlohmann::json::parse(findings_json(DoctorFindings{good, worse}));
  EXPECT_EQ(json.at("checks").at(1).at("level"), "fail");
  EXPECT_EQ(json.at("checks").at(1).at("remedy"), "mend");
  EXPECT_EQ(json.at("failures"), 1);
}

TEST(Doctor, ReadsWhatTheInterpreterSays) {
  const std::string version = nlohmann::json::parse(findings_json({})).at("version");
  const auto well = python_findings(
      "python3", R"(a library greets
{"python": "3.11.2", "torch": "1.13", "sdk": ")" +
                     version + R"(", "sdk_folder": "/x", "gigaflops": 40, "blas_warning": ""})");
  EXPECT_EQ(findings_exit_code(well), 0);
  EXPECT_EQ(finding_of(well, "blas").level, FindingLevel::Ok);

  const auto old = python_findings(
      "python3", std::string(R"({"torch": "1.13", "sdk": "0.0.1", "sdk_folder": "/x",
                  "gigaflops": 2, "blas_warning": "matrix products are slow"})"));
  EXPECT_EQ(finding_of(old, "sdk").level, FindingLevel::Fail);
  EXPECT_EQ(finding_of(old, "blas").level, FindingLevel::Warn);

  const auto bare = python_findings("python3", std::string(R"({"torch_error": "no module"})"));
  EXPECT_EQ(finding_of(bare, "torch").level, FindingLevel::Fail);
  EXPECT_THAT(finding_of(bare, "torch").remedy, testing::HasSubstr("python3-torch"));
  EXPECT_EQ(findings_exit_code(python_findings("python3", std::string("Segmentation fault"))), 1);
  EXPECT_EQ(findings_exit_code(python_findings("python9", Error{.message = "not found"})), 1);
}

TEST(Doctor, KnowsAFullAndASlowDisk) {
  DiskLook look{.path = "/state", .free_bytes = kPlenty, .fsync_seconds = 0.003};
  EXPECT_EQ(disk_finding(look).level, FindingLevel::Ok);
  look.fsync_seconds = 1;
  EXPECT_EQ(disk_finding(look).level, FindingLevel::Warn);
  look.free_bytes = 1;
  EXPECT_EQ(disk_finding(look).level, FindingLevel::Fail);
  look = {.path = "/state", .free_bytes = kPlenty, .problem = "Read-only file system"};
  EXPECT_EQ(disk_finding(look).level, FindingLevel::Fail);
  EXPECT_EQ(
      shared_memory_finding({.path = "/dev/shm", .free_bytes = std::uint64_t{64} << 20U}).level,
      FindingLevel::Warn);
  EXPECT_EQ(shared_memory_finding({.path = "/dev/shm", .free_bytes = kPlenty}).level,
            FindingLevel::Ok);
}

TEST(Doctor, SaysWhatIsWrongWithGpusClockAndLimits) {
  EXPECT_EQ(gpu_finding(Error{.code = ErrorCode::NotFound, .message = "none"}).level,
            FindingLevel::Ok);
  EXPECT_EQ(gpu_finding(Error{.code = ErrorCode::Io, .message = "driver mismatch"}).level,
            FindingLevel::Fail);
  EXPECT_EQ(gpu_finding(parse_gpus("0, NVIDIA A100, 40960 MiB, GPU-1\n1, ERR!, ERR!, ERR!")).level,
            FindingLevel::Warn);
  EXPECT_THAT(gpu_finding(parse_gpus("0, NVIDIA A100, 40960 MiB, GPU-1")).found,
              testing::HasSubstr("A100"));
  EXPECT_EQ(clock_finding({.is_synchronised = true, .unix_seconds = 2'000'000'000}).level,
            FindingLevel::Ok);
  EXPECT_EQ(clock_finding({.is_synchronised = false, .unix_seconds = 2'000'000'000}).level,
            FindingLevel::Warn);
  EXPECT_EQ(clock_finding({.is_synchronised = true, .unix_seconds = 10}).level, FindingLevel::Fail);
  EXPECT_EQ(isolation_finding({.note = "no cgroup may be made"}).level, FindingLevel::Warn);
}

TEST(Doctor, MissesAPlatformOnlyIfOneWasNamed) {
  // Port 1 is nobody's.
  const ClientFlags flags{.server = "http://127.0.0.1:1", .timeout_seconds = 5};
  EXPECT_EQ(findings_exit_code(examine_platform(flags, true)), 1);
  EXPECT_EQ(findings_exit_code(examine_platform(flags, false)), 0);
}

}  // namespace
}  // namespace rubato
