#include "rubato/sim/batch.h"

#include <set>

#include <gtest/gtest.h>

#include "rubato/sim/workload.h"

namespace rubato {
namespace {

struct Batch : testing::Test {
  Topology topology = Topology::parse("1x4").value();
  SpeedBook speeds{{SpeedRow{.model = "m", .batch = 1, .gpus = 1, .speed = 1}}, topology};
  std::vector<Job> jobs = make_jobs();

  static std::vector<Job> make_jobs() {
    std::vector<Job> made(3);
    for (std::uint64_t id = 0; id < made.size(); ++id) {
      made[id].id = JobId{id};
      made[id].model = "m";
      made[id].batch = 1;
      made[id].work = 30;
    }
    return made;
  }

  BatchRun run_of(const std::string& policy) {
    return {.jobs = &jobs, .speeds = &speeds, .options = {.policy = policy}};
  }
};

TEST_F(Batch, HandsOverEveryResultOnceWhateverTheThreads) {
  for (const unsigned threads : {0U, 1U, 4U}) {
    const std::vector<BatchRun> runs = {run_of("fifo"), run_of("srtf"), run_of("edf")};
    std::multiset<std::size_t> handed;
    std::set<std::size_t> started;

    simulate_all(
        runs, topology, threads,
        {.on_progress = [&](std::size_t run, std::size_t, std::size_t) { started.insert(run); },
         .on_result =
             [&](std::size_t run, const Result<SimResult>& result) {
               EXPECT_TRUE(result.ok());
               handed.insert(run);
             }});

    EXPECT_EQ(handed, (std::multiset<std::size_t>{0, 1, 2}));
    EXPECT_EQ(started, (std::set<std::size_t>{0, 1, 2}));
  }
}

TEST_F(Batch, OneFailureLeavesTheOthersAlone) {
  const std::vector<BatchRun> runs = {run_of("nosuch"), run_of("srtf")};
  std::vector<bool> oks(2);

  simulate_all(runs, topology, 1,
               {.on_result = [&](std::size_t run, const Result<SimResult>& result) {
                 oks[run] = result.ok();
               }});

  EXPECT_EQ(oks, (std::vector<bool>{false, true}));
}

TEST_F(Batch, ARunThatTakesTooLongFails) {
  std::vector<BatchRun> runs = {run_of("fifo")};
  runs[0].options.limit_seconds = 1e-12;
  std::string why;

  simulate_all(runs, topology, 1, {.on_result = [&](std::size_t, const Result<SimResult>& result) {
                 why = result.ok() ? "" : result.error().message;
               }});

  EXPECT_NE(why.find("was stopped after"), std::string::npos) << why;
}

}  // namespace
}  // namespace rubato
