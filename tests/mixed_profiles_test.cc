// Measured profiles of two GPU types, from files to finished jobs.
//
// The application trains 100 steps of batch 10. A step takes 1 s on one T4, 0.6 s on two and 0.4 s
// on four; an A100 is four times as fast.
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/cli/simulate/profiles_dir.h"
#include "rubato/metrics/summary.h"
#include "rubato/sim/simulator.h"
#include "rubato/sim/workload.h"

namespace rubato {
namespace {

constexpr const char* kHead = "placement,local_bsz,step_time,sync_time\n";

class MixedProfiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::to_string(getpid()) + "-" + info->name());
    write("net/placements.csv", std::string(kHead) +
                                    "1,2,1,0\n1,10,1,0\n2,2,0.6,0.1\n"
                                    "2,10,0.6,0.1\n4,2,0.4,0.1\n4,10,0.4,0.1\n");
    write("net/placements-A100.csv",
          std::string(kHead) +
              "1,2,0.25,0\n1,10,0.25,0\n2,2,0.15,0.025\n2,10,0.15,0.025\n"
              "4,2,0.1,0.025\n4,10,0.1,0.025\n");
    write("net/validation-10.csv", "progress,iteration,grad_sqr,grad_var\n100,100,1,0\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  [[nodiscard]] Summary run(const std::string& policy, std::string_view cluster,
                            std::vector<Job> jobs) const {
    const Topology topology = Topology::parse(cluster).value();
    auto profiled = with_profiles(std::move(jobs), folder_.string(), topology).value();
    SpeedBook speeds(std::move(profiled.rows), topology);
    speeds.add(std::move(profiled.profiles));
    const Workload ready = prepare(std::move(profiled.jobs), speeds);
    const auto result = simulate(ready.jobs, topology, speeds,
                                 SimOptions{.policy = policy,
                                            .slot = std::chrono::seconds{10},
                                            .restart = std::chrono::seconds{1},
                                            .grid = true,
                                            .audit = true});
    EXPECT_TRUE(result.ok()) << result.error().message;
    return summarize(result->history);
  }

  static std::vector<Job> jobs(int count, const std::string& gpu_type = "", int requested = 1) {
    std::vector<Job> made;
    for (int i = 0; i < count; ++i) {
      made.push_back(Job{.id = JobId{static_cast<std::uint64_t>(i)},
                         .model = "net",
                         .batch = 10,
                         .requested = requested,
                         .gpu_type = gpu_type});
    }
    return made;
  }

  std::filesystem::path folder_;
};

// The policies in question, and one that cannot stretch jobs, by hand.
TEST_F(MixedProfiles, AJobTakesWhatWasMeasuredOnItsType) {
  for (const std::string policy : {"fifo", "gavel-las", "gavel-ftf"}) {
    EXPECT_EQ(run(policy, "1x4:T4+1x4:A100", jobs(1, "T4")).makespan_seconds, 100 + 1) << policy;
    EXPECT_EQ(run(policy, "1x4:T4+1x4:A100", jobs(1, "A100")).makespan_seconds, 25 + 1) << policy;
    EXPECT_EQ(run(policy, "1x4:T4+1x4:A100", jobs(1, "A100", 4)).makespan_seconds, 10 + 1)
        << policy;
  }
}

// Mixed GPUs against the same cluster when nobody has measured how fast one type is.
TEST_F(MixedProfiles, AFasterTypeHelpsThePoliciesThatKnowIt) {
  const std::vector<std::string> policies = {"sia", "gavel-las", "gavel-ftf"};
  std::vector<Summary> mixed;
  for (const std::string& policy : policies) {
    mixed.push_back(run(policy, "2x4:T4+2x4:A100", jobs(40)));
  }
  std::filesystem::remove(folder_ / "net/placements-A100.csv");

  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Summary same = run(policies[i], "2x4:T4+2x4:A100", jobs(40));
    EXPECT_EQ(mixed[i].finished, 40) << policies[i];
    EXPECT_LT(mixed[i].jct_avg_seconds, 0.8 * same.jct_avg_seconds) << policies[i];
    EXPECT_LT(mixed[i].makespan_seconds, 0.8 * same.makespan_seconds) << policies[i];
  }
}

// Seen on one type, a job is known on the other by the ratio of the speeds on one GPU.
TEST_F(MixedProfiles, SiaMovesAJobToATypeItHasNotRunOn) {
  write("net/validation-10.csv", "progress,iteration,grad_sqr,grad_var\n2000,2000,1,0\n");

  // Nine steps in the first round, then 1 s to restart and a quarter of a second for each of 1991;
  // epochs end on whole seconds.
  EXPECT_EQ(run("sia", "1x1:T4+1x1:A100", jobs(1)).makespan_seconds, 10 + 1 + 498);
  EXPECT_EQ(run("sia", "1x1:A100+1x1:T4", jobs(1)).makespan_seconds, 1 + 500);
}

}  // namespace
}  // namespace rubato
