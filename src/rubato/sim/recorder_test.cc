#include "rubato/sim/recorder.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

/// A recorder and three jobs that make one step per second on one GPU and 1.5 on two.
struct Desk {
  explicit Desk(bool keep_bars = false)
      : topology(Topology::parse("1x4").value()),
        speeds({SpeedRow{.model = "m", .batch = 1, .gpus = 1, .speed = 1},
                SpeedRow{.model = "m", .batch = 1, .gpus = 2, .speed = 1.5}},
               topology),
        jobs(make_jobs()),
        recorder(jobs, topology, keep_bars) {}

  static std::vector<Job> make_jobs() {
    std::vector<Job> jobs(3);
    for (std::uint64_t id = 0; id < 3; ++id) {
      jobs[id].id = JobId{id};
      jobs[id].name = std::string("job ") + std::to_string(id);
      jobs[id].model = "m";
      jobs[id].batch = 1;
      jobs[id].work = 30;
      jobs[id].arrival = at_seconds(10);
      jobs[id].deadline = at_seconds(32);
    }
    return jobs;
  }

  void arrive(std::uint64_t id) {
    recorder.arrive(jobs[id], speeds.resolve(jobs[id]), speeds, topology);
  }
  void run(double now, std::uint64_t id, int first, int count) {
    recorder.run(at_seconds(now),
                 Run{.job = JobId{id}, .placement = {.ranges = {{.first = first, .count = count}}}},
                 speeds);
  }
  void suspend(double now, std::uint64_t id) { recorder.suspend(at_seconds(now), JobId{id}); }
  void complete(double now, std::uint64_t id) { recorder.complete(at_seconds(now), jobs[id]); }
  void end(double now) { recorder.end_of_event(at_seconds(now)); }
  History finish(double now) { return recorder.finish(at_seconds(now)); }

  Topology topology;
  SpeedBook speeds;
  std::vector<Job> jobs;
  Recorder recorder;
};

TEST(Recorder, WritesDownTheLifeOfAJob) {
  Desk desk;
  desk.arrive(0);
  desk.recorder.answer(Verdict{.job = JobId{0}, .promised = at_seconds(31)});
  desk.run(12, 0, 0, 1);
  desk.run(15, 0, 0, 2);
  desk.run(18, 0, 2, 2);
  desk.suspend(20, 0);
  desk.run(25, 0, 0, 1);
  desk.complete(30, 0);

  const JobRecord job = desk.finish(30).jobs[0];

  EXPECT_TRUE(job.admitted);
  EXPECT_EQ(job.promised, at_seconds(31));
  EXPECT_EQ(job.first_start, at_seconds(12));
  EXPECT_EQ(job.finish, at_seconds(30));
  EXPECT_EQ(job.gpu_seconds, 3 * 1 + 3 * 2 + 2 * 2 + 5 * 1);
  EXPECT_EQ(job.resizes, 1);
  EXPECT_EQ(job.migrations, 1);
  EXPECT_EQ(job.restarts, 1);
  EXPECT_EQ(job.value_offered, 1);
  EXPECT_EQ(job.value, 1);
  EXPECT_TRUE(job.feasible_alone);
  EXPECT_EQ(job.alone_seconds, 20);
}

TEST(Recorder, KeepsTheReasonOfARefusal) {
  Desk desk;
  desk.arrive(0);
  desk.recorder.answer(
      Verdict{.job = JobId{0}, .kind = VerdictKind::Refuse, .reason = Reason::PromisesInTheWay});

  const History history = desk.finish(30);

  EXPECT_TRUE(history.jobs[0].refused);
  EXPECT_FALSE(history.jobs[0].admitted);
  EXPECT_EQ(history.jobs[0].reason, Reason::PromisesInTheWay);
}

TEST(Recorder, SamplesTheUseOfTheClusterOncePerInstant) {
  Desk desk;
  desk.arrive(0);
  desk.end(10);
  desk.arrive(1);
  desk.end(10);
  desk.run(10, 0, 0, 2);
  desk.end(10);
  desk.end(11);  // Nothing changed.
  desk.run(12, 1, 2, 1);
  desk.end(12);
  desk.complete(30, 0);
  desk.end(30);
  desk.suspend(31, 1);
  desk.end(31);

  const std::vector<UseSample> use = desk.finish(40).use;

  ASSERT_EQ(use.size(), 4U);
  EXPECT_EQ(use[0].at, at_seconds(10));
  EXPECT_EQ(use[0].gpus_used, 2);
  EXPECT_EQ(use[0].gpus_up, 4);
  EXPECT_EQ(use[0].running, 1);
  EXPECT_EQ(use[0].waiting, 1);
  EXPECT_EQ(use[0].speedup, 1.5);
  EXPECT_EQ(use[1].gpus_used, 3);
  EXPECT_EQ(use[1].speedup, 2.5);
  EXPECT_EQ(use[1].waiting, 0);
  EXPECT_EQ(use[2].gpus_used, 1);
  EXPECT_EQ(use[2].running, 1);
  EXPECT_EQ(use[3].gpus_used, 0);
  EXPECT_EQ(use[3].waiting, 1);
  EXPECT_EQ(use[3].speedup, 0);
}

TEST(Recorder, FollowsTheGpusThatAreUp) {
  Desk desk;
  desk.recorder.nodes(at_seconds(11), 0);
  desk.end(11);

  EXPECT_EQ(desk.finish(20).use.back().gpus_up, 0);
}

TEST(Recorder, KeepsBarsAndNamesOnlyIfAsked) {
  const auto record = [](bool keep) {
    Desk desk(keep);
    desk.arrive(0);
    desk.run(12, 0, 0, 1);
    desk.run(15, 0, 2, 2);
    return desk.finish(20);
  };

  const History kept = record(true);

  ASSERT_EQ(kept.bars.size(), 2U);
  EXPECT_EQ(kept.bars[0].to, at_seconds(15));
  EXPECT_EQ(kept.bars[0].placement.ranges, (std::vector<GpuRange>{{.first = 0, .count = 1}}));
  EXPECT_EQ(kept.bars[1].from, at_seconds(15));
  EXPECT_EQ(kept.bars[1].to, at_seconds(20));  // Cut off by the end of the run.
  EXPECT_EQ(kept.names[0], "job 0");
  EXPECT_TRUE(record(false).bars.empty());
  EXPECT_TRUE(record(false).names.empty());
}

}  // namespace
}  // namespace rubato
