#include "rubato/cli/simulate/profiles_dir.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rubato/cli/trace/trace_file.h"

namespace rubato {
namespace {

/// A folder with one application, net: 1 s a step for 10 samples on one GPU; 100 steps at batch 20.
class WithProfiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::to_string(getpid()) + "-" + info->name());
    write("net/placements.csv", "placement,local_bsz,step_time,sync_time\n1,10,1,0\n2,10,1.25,0\n");
    write("net/scalability.csv",
          "num_nodes,num_replicas,local_bsz,step_time,sync_time\n2,4,5,1,0.5\n");
    write("net/validation-20.csv",
          "progress,iteration,metric,grad_sqr,grad_var\n40,40,1,1,3\n100,100,2,1,3\n");
    write("philly.csv", "not a profile");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  [[nodiscard]] Result<ProfiledJobs> profiled(std::vector<Job> jobs,
                                              std::string_view cluster = "2x4") const {
    return with_profiles(std::move(jobs), folder_.string(), *Topology::parse(cluster));
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  std::filesystem::path folder_;
};

TEST_F(WithProfiles, GivesAJobWithoutWorkTheStepsOfItsCurve) {
  const auto result = profiled({Job{.model = "net", .batch = 20}});

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->jobs[0].work, 100);
  EXPECT_TRUE(result->notes.empty());
}

TEST_F(WithProfiles, LeavesWorkAndDurationOfTheTraceAlone) {
  const auto result = profiled({Job{.work = 7, .model = "net", .batch = 20},
                                Job{.model = "net", .batch = 20, .duration = from_seconds(60)},
                                Job{.name = "plain"}});

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->jobs[0].work, 7);
  EXPECT_EQ(result->jobs[1].work, 0);
  EXPECT_EQ(result->jobs[2].work, 0);
}

TEST_F(WithProfiles, GivesOtherBatchesTheStepsThatTheNoiseSays) {
  const auto result = profiled({Job{.model = "net", .batch = 10}, Job{.model = "net", .batch = 10},
                                Job{.model = "net", .batch = 40}});

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_DOUBLE_EQ(result->jobs[1].work, 100 * 7 / 4.0);    // (3 + 1) / (3 / 0.5 + 1) a step.
  EXPECT_DOUBLE_EQ(result->jobs[2].work, 100 * 2.5 / 4.0);  // (3 + 1) / (3 / 2 + 1) a step.
  ASSERT_EQ(result->notes.size(), 2U);
  EXPECT_EQ(result->notes[0],
            "net/10: no training was measured beyond batch 20; its gradient noise is taken over");
  EXPECT_EQ(result->notes[1],
            "net/40: no training was measured beyond batch 20; its gradient noise is taken over");
}

TEST_F(WithProfiles, GivesBackTheProfileAndItsLimits) {
  const auto result = profiled({Job{.model = "net", .batch = 20}, Job{.name = "plain"}}, "2x4:T4");

  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->profiles.size(), 1U);
  EXPECT_EQ(result->profiles.at({"net", "T4"}).epochs(), 2);
  EXPECT_EQ(result->jobs[0].batches,
            (BatchLimits{.initial = 20, .max = 20, .local_min = 5, .local_max = 10}));
  EXPECT_FALSE(result->jobs[1].batches.can_adapt());
}

TEST_F(WithProfiles, KeepsToTheLimitsThatTheFilesDoNotTell) {
  for (const std::string name : {"ncf", "yolov3"}) {
    write(name + "/placements.csv", "placement,local_bsz,step_time,sync_time\n1,4,1,0\n1,16,1,0\n");
    write(name + "/validation-8.csv", "progress,iteration,grad_sqr,grad_var\n1,1,1,1\n");
  }

  const auto result =
      profiled({Job{.model = "ncf", .batch = 8}, Job{.model = "ncf", .batch = 8, .requested = 2},
                Job{.model = "yolov3", .batch = 8}});

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->jobs[0].workers.max, 1);
  EXPECT_EQ(result->jobs[1].workers.max, 2);
  EXPECT_EQ(result->jobs[0].batches.local_max, 16);
  EXPECT_EQ(result->jobs[2].batches.local_max, 8);
}

TEST_F(WithProfiles, AddsTheSpeedsOfEachKindOnceAndOfTheClustersType) {
  const auto result =
      profiled({Job{.model = "net", .batch = 20}, Job{.model = "net", .batch = 20}}, "2x4:T4");

  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->rows.size(), 7U);  // One GPU; two and four at each of three spans.
  EXPECT_EQ(result->rows[0].gpu_type, "T4");
  EXPECT_EQ(result->rows[0].speed, 0.5);  // Two passes of ten.
  EXPECT_EQ(result->rows[1].speed, 0.8);
  EXPECT_EQ(result->rows[4].gpus, 4);
}

TEST_F(WithProfiles, NamesAnApplicationWithoutProfileAndTheNearestSpelling) {
  const auto result = profiled({Job{.name = "a-1", .model = "nett", .batch = 20}});
  const auto outside = profiled({Job{.name = "a-2", .model = "../x", .batch = 20}});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::BadInput);
  EXPECT_EQ(result.error().message, "job 'a-1': application 'nett' has no profile in " +
                                        folder_.string() + "; did you mean 'net'?");
  EXPECT_FALSE(outside.ok());
}

TEST_F(WithProfiles, RefusesABatchThatFitsNoMeasurement) {
  EXPECT_EQ(profiled({Job{.name = "tiny", .model = "net", .batch = 4}}).error().message,
            "job 'tiny': batch 4 is below the smallest local batch measured for 'net', 5");
  EXPECT_TRUE(profiled({Job{.model = "net", .batch = 5}}).ok());
  EXPECT_EQ(profiled({Job{.name = "none", .model = "net"}}).error().message,
            "job 'none': batch 0 is below the smallest local batch measured for 'net', 5");
}

TEST_F(WithProfiles, FailsOnFilesThatAreMissingOrMalformed) {
  write("bare/validation-20.csv", "progress,iteration\n1,1\n");
  write("odd/placements.csv", "placement,local_bsz,step_time,sync_time\n1,10,fast,0\n");
  write("old/placements.csv", "placement,local_bsz,step_time,sync_time\n1,10,1,0\n");
  write("old/validation-20.csv", "progress,iteration,metric\n1,1,1\n");
  write("new/placements.csv", "placement,local_bsz,step_time,sync_time\n1,10,1,0\n");
  const auto message = [&](const char* model) {
    return profiled({Job{.name = "j", .model = model, .batch = 20}}).error().message;
  };

  EXPECT_EQ(message("bare"),
            path("bare/placements.csv") + ": cannot be read: No such file or directory");
  EXPECT_EQ(message("odd"), path("odd/placements.csv") +
                                ":2: step_time: 'fast' is not a positive number of seconds");
  EXPECT_EQ(message("new"),
            "job 'j' has neither work nor duration, and 'new' has no validation-<batch>.csv");
  EXPECT_EQ(message("old"), path("old/validation-20.csv") + ":1: column 'grad_sqr' is missing");
}

TEST_F(WithProfiles, FailsOnAFolderThatIsNotThere) {
  const auto missing = with_profiles({}, path("none"), *Topology::parse("1x1"));
  const auto file = with_profiles({}, path("philly.csv"), *Topology::parse("1x1"));

  EXPECT_EQ(missing.error().code, ErrorCode::Io);
  EXPECT_EQ(missing.error().message, path("none") + ": cannot be read: No such file or directory");
  EXPECT_EQ(file.error().message, path("philly.csv") + ": cannot be read: Not a directory");
}

TEST_F(WithProfiles, TakesEachTypeFromItsOwnFiles) {
  write("net/placements-A100.csv",
        "placement,local_bsz,step_time,sync_time\n1,5,0.1,0\n1,40,0.2,0\n4,40,0.5,0.3\n");

  const auto result = profiled({Job{.model = "net", .batch = 20}}, "1x4:T4+1x4:A100");

  ASSERT_TRUE(result.ok()) << result.error().message;
  const ApplicationProfile& slow = result->profiles.at({"net", "T4"});
  const ApplicationProfile& fast = result->profiles.at({"net", "A100"});
  EXPECT_EQ(slow.pass({1}, 10).step, 1);
  EXPECT_DOUBLE_EQ(fast.pass({1}, 20).step, 0.1 + 0.1 * 15 / 35);
  EXPECT_EQ(fast.pass({4}, 40).exchange, 0.3);
  EXPECT_EQ(slow.limits().local_max, 10);
  EXPECT_EQ(fast.limits().local_max, 40);
  EXPECT_EQ(result->jobs[0].batches.local_max, 40);  // Each type narrows it to its own.
  EXPECT_EQ(result->jobs[0].work, 100);
  ASSERT_EQ(result->notes.size(), 1U);
  EXPECT_EQ(result->notes[0], "net: T4 GPUs take the step times of placements.csv");
  double speeds = 0;
  for (const SpeedRow& row : result->rows) {
    if (row.gpus == 1) {
      speeds += row.speed;
    }
  }
  // Two passes of ten in 2 s there, one of twenty here.
  EXPECT_DOUBLE_EQ(speeds, 0.5 + 1 / (0.1 + 0.1 * 15 / 35));
}

TEST_F(WithProfiles, LeavesOutATypeThatNobodyMeasured) {
  write("own/placements-A100.csv", "placement,local_bsz,step_time,sync_time\n1,10,1,0\n");
  write("own/scalability-V100.csv", "num_nodes,num_replicas,local_bsz,step_time,sync_time\n");
  write("own/validation-20.csv", "progress,iteration,grad_sqr,grad_var\n1,1,1,1\n");
  const std::vector<Job> jobs = {Job{.name = "j", .model = "own", .batch = 20}};

  const auto both = profiled(jobs, "1x4:T4+1x4:A100");

  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(both->profiles.size(), 1U);
  ASSERT_EQ(both->notes.size(), 1U);
  EXPECT_EQ(both->notes[0], "own: not measured on T4 GPUs, so it never runs there");
  EXPECT_EQ(profiled(jobs, "1x4:T4").error().message,
            path("own") + ": neither placements.csv nor one for 'T4'; measured: A100");
  EXPECT_EQ(profiled(jobs, "1x4:V100").error().message,
            path("own/scalability-V100.csv") + ": placements-V100.csv is missing beside it");
}

TEST_F(WithProfiles, NamesFileLineAndFieldOfABadMeasurementOfAType) {
  write("net/placements-A100.csv", "placement,local_bsz,step_time,sync_time\n1,10,1,2\n");
  const std::vector<Job> jobs = {Job{.model = "net", .batch = 20}};

  EXPECT_EQ(
      profiled(jobs, "1x4:A100").error().message,
      path("net/placements-A100.csv") + ":2: sync_time: '2' is not a number from 0 to step_time");
  EXPECT_EQ(profiled(jobs, "1x4:A100").error().code, ErrorCode::BadInput);
  EXPECT_EQ(
      profiled(jobs, "1x4").value().notes,
      std::vector<std::string>{"net: GPUs without a type take the step times of placements.csv"});
  write("net/placements-A100.csv", "placement,local_bsz,step_time,sync_time\n");
  EXPECT_EQ(profiled(jobs, "1x4:A100").error().message,
            path("net/placements-A100.csv") + ": no step times");
}

TEST(Preferring, DropsOtherRowsOfTheSameKind) {
  const auto rows = preferring({SpeedRow{.model = "a", .batch = 1, .speed = 2}},
                               {SpeedRow{.model = "a", .batch = 1, .speed = 9},
                                SpeedRow{.model = "a", .batch = 2, .speed = 3}});

  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].speed, 2);
  EXPECT_EQ(rows[1].speed, 3);
}

// The public data lies beside the repository on developers' machines only.
TEST(PublicProfiles, GiveEveryJobOfAWorkloadWorkAndSpeed) {
  const std::filesystem::path data = "../shared/data/pollux";
  if (!std::filesystem::exists(data / "traces")) {
    GTEST_SKIP() << "no public data beside the repository";
  }
  std::vector<Diagnostic> diagnostics;
  auto jobs = load_trace(data / "workloads/workload-1.csv", "pollux", diagnostics);
  ASSERT_TRUE(jobs.ok());

  const auto result = with_profiles(*jobs, data / "traces", *Topology::parse("16x4"));

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->notes.empty());
  for (const Job& job : result->jobs) {
    EXPECT_GT(job.work, 0) << job.name;
  }
  // cifar10 at batch 2048, reckoned apart from this code; the recorded training took 3178 steps.
  EXPECT_NEAR(result->jobs[0].work, 3343.1466, 1e-3);
}

}  // namespace
}  // namespace rubato
