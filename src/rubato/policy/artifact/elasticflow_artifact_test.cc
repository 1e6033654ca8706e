#include "rubato/policy/artifact/elasticflow_artifact.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "rubato/base/check.h"
#include "rubato/core/plan_checker.h"

namespace rubato::policy::artifact {
namespace {

constexpr int kBatch = 64;
constexpr Duration kArtifactSlot = std::chrono::seconds{10};

// One step per second for each GPU, at the powers of two.
std::vector<SpeedRow> speeds() {
  std::vector<SpeedRow> rows;
  for (int gpus = 1; gpus <= 8; gpus *= 2) {
    rows.push_back(SpeedRow{.model = "linear", .batch = kBatch, .gpus = gpus, .speed = 1.0 * gpus});
  }
  return rows;
}

Job best_effort(std::uint64_t id, double arrival, double work) {
  Job made;
  made.id = JobId{id};
  made.arrival = at_seconds(arrival);
  made.work = work;
  made.model = "linear";
  made.batch = kBatch;
  made.job_class = JobClass::BestEffort;
  return made;
}

Job job(std::uint64_t id, double arrival, double work, double deadline) {
  Job made = best_effort(id, arrival, work);
  made.job_class = JobClass::Slo;
  made.deadline = at_seconds(deadline);
  return made;
}

struct StageOptions {
  std::string_view cluster = "1x4";
  ResizeCostModel accounting = ResizeCostModel::None;
  bool reloads = false;  // Before each event the policy is saved, made anew and loaded.
};

/// Driver and engine in one, with slots of ten seconds: this policy answers an arrival only at a
/// later round, so it needs a stage on which a job can wait without a verdict.
class Stage {
 public:
  explicit Stage(const StageOptions& options = {})
      : options_(options),
        topology_(Topology::parse(options.cluster).value()),
        speeds_(speeds(), topology_),
        costs_(options.accounting, topology_.gpus(), kArtifactSlot),
        policy_(make_elasticflow_artifact(PolicyOptions{}).value()) {
    for (const Pool& pool : topology_.pools()) {
      capacity_.push_back(pool.gpus);
    }
  }

  void submit(const std::vector<Job>& jobs) {
    for (const Job& each : jobs) {
      coming_.emplace(std::pair(each.arrival, each.id), each);
    }
  }

  void run_until(double seconds) { run_until(at_seconds(seconds)); }
  void run() { run_until(kNever); }

  // The widest jobs lose their workers until the rest fits, as jobs on a lost node would.
  void set_gpus(int gpus) {
    capacity_[0] = gpus;
    while (used() > gpus) {
      JobState* widest = nullptr;
      jobs_.for_each([&](const JobState& each) {
        widest = widest == nullptr || each.share > widest->share ? jobs_.find(each.id()) : widest;
      });
      give(*widest, 0);
    }
    tell(NodeChange{});
  }

  // The job loses its workers, and all it has done.
  void crash(std::uint64_t id) {
    JobState& job = jobs_.at(JobId{id});
    give(job, 0);
    job.progress.done = 0;
    tell(ProgressReport{.job = JobId{id}});
  }

  [[nodiscard]] int share(std::uint64_t id) const { return jobs_.at(JobId{id}).share; }
  [[nodiscard]] double finish(std::uint64_t id) const {
    const auto found = finishes_.find(JobId{id});
    return found == finishes_.end() ? -1 : to_seconds(found->second);
  }
  [[nodiscard]] const Verdict& verdict(std::uint64_t id) const { return verdicts_.at(JobId{id}); }
  [[nodiscard]] const std::map<JobId, Instant>& finishes() const { return finishes_; }
  [[nodiscard]] const std::map<JobId, Verdict>& verdicts() const { return verdicts_; }

 private:
  void run_until(Instant end) {
    while (true) {
      const JobState* first = nullptr;
      jobs_.for_each([&](const JobState& each) {
        first = first == nullptr || finish_of(each) < finish_of(*first) ? &each : first;
      });
      const Instant done = first == nullptr ? kNever : finish_of(*first);
      const Instant arrival = coming_.empty() ? kNever : coming_.begin()->first.first;
      const Instant next = std::min({done, arrival, wake_});
      if (next > end || next == kNever) {
        break;
      }
      RUBATO_CHECK(next >= now_);
      now_ = next;
      if (done <= now_) {
        complete(first->id());
      } else if (arrival <= now_) {
        arrive();
      } else {
        tell(Tick{});
      }
    }
    now_ = end == kNever ? now_ : end;
  }

  [[nodiscard]] static Instant finish_of(const JobState& job) {
    return job.share > 0 ? job.progress.finish(job.job.work) : kNever;
  }

  void complete(JobId id) {
    finishes_[id] = now_;
    jobs_.erase(id);
    tell(Completion{.job = id});
  }

  void arrive() {
    JobState& state = jobs_.insert(coming_.begin()->second);
    coming_.erase(coming_.begin());
    state.speed = speeds_.resolve(state.job);
    tell(Arrival{.job = state.job});
  }

  void tell(const Event& event) {
    if (options_.reloads) {
      const std::string state = policy_->save();
      policy_ = make_elasticflow_artifact(PolicyOptions{}).value();
      RUBATO_CHECK(policy_->load(state).ok() && policy_->save() == state);
    }
    const Decision decision = policy_->on(event, View{.now = now_,
                                                      .topology = topology_,
                                                      .capacity = capacity_,
                                                      .jobs = jobs_,
                                                      .speeds = speeds_,
                                                      .costs = costs_,
                                                      .slot = kArtifactSlot,
                                                      .random = random_});
    wake_ = decision.wake_at;
    const std::array in_use{used()};
    const auto faults =
        check_decision(decision, now_, jobs_, PoolUse{.capacity = capacity_, .used = in_use});
    RUBATO_CHECK(faults.empty());
    for (const Verdict& verdict : decision.verdicts) {
      verdicts_[verdict.job] = verdict;
      if (verdict.kind == VerdictKind::Refuse) {
        jobs_.erase(verdict.job);
      } else {
        jobs_.at(verdict.job).admitted = verdict.kind == VerdictKind::Admit;
      }
    }
    for (const Target& target : decision.targets) {
      give(jobs_.at(target.job), target.workers);
    }
  }

  // Every round stops every job, as ArtifactCharge::EveryRound says.
  void give(JobState& job, int workers) {
    const bool pays = options_.accounting == ResizeCostModel::Artifact && workers > 0;
    const Duration pause = pays ? costs_.artifact(workers, false, false) : Duration{};
    const double speed = workers > 0 ? speeds_.curve(job.speed, PoolId{}).speed(workers) : 0;
    job.progress.change(now_, speed, pause);
    job.share = workers;
  }

  [[nodiscard]] int used() const {
    int sum = 0;
    jobs_.for_each([&](const JobState& each) { sum += each.share; });
    return sum;
  }

  StageOptions options_;
  Topology topology_;
  SpeedBook speeds_;
  ResizeCost costs_;
  std::unique_ptr<Policy> policy_;
  std::vector<int> capacity_;
  JobTable jobs_;
  Random random_{1};
  Instant now_{};
  Instant wake_ = kNever;
  std::map<std::pair<Instant, JobId>, Job> coming_;
  std::map<JobId, Instant> finishes_;
  std::map<JobId, Verdict> verdicts_;
};

std::vector<Job> random_artifact_jobs(std::uint64_t seed) {
  Random random(seed);
  std::vector<Job> jobs;
  for (std::uint64_t id = 1; id <= 20; ++id) {
    const auto arrival = static_cast<double>(random.integer(0, 300));
    const auto work = static_cast<double>(random.integer(1, 150));
    const double deadline = arrival + static_cast<double>(random.integer(10, 300));
    jobs.push_back(random.integer(0, 4) == 0 ? best_effort(id, arrival, work)
                                             : job(id, arrival, work, deadline));
  }
  return jobs;
}

TEST(ElasticFlowArtifact, ALoneJobGetsEveryGpu) {
  Stage stage;
  stage.submit({job(1, 0, 80, 1000)});

  stage.run();

  EXPECT_EQ(stage.verdict(1).kind, VerdictKind::Admit);
  EXPECT_EQ(stage.verdict(1).promised, at_seconds(1000));
  EXPECT_EQ(stage.finish(1), 20);
}

TEST(ElasticFlowArtifact, JobsOfOneSlotAreRefusedTogether) {
  Stage stage;
  stage.submit(
      {job(1, 0, 80, 1000), job(2, 3, 10, 1000), job(3, 7, 1000, 20), job(4, 25, 10, 1000)});

  stage.run();

  EXPECT_EQ(stage.verdict(2).reason, Reason::BatchRefused);
  EXPECT_EQ(stage.verdict(3).reason, Reason::DeadlineTooSoon);
  EXPECT_EQ(stage.verdict(4).kind, VerdictKind::Admit);
}

TEST(ElasticFlowArtifact, ArrivalsWaitForTheRound) {
  Stage stage;
  stage.submit({job(1, 0, 400, 1000), job(2, 3, 10, 1000)});

  stage.run_until(9);
  EXPECT_EQ(stage.verdict(2).kind, VerdictKind::Defer);
  stage.run_until(10);

  EXPECT_EQ(stage.verdict(2).kind, VerdictKind::Admit);
  EXPECT_GT(stage.share(2), 0);
}

TEST(ElasticFlowArtifact, ThePauseItIgnoredMakesAJobLateAndThatVetoesOthers) {
  Stage stage({.accounting = ResizeCostModel::Artifact});
  stage.submit({job(1, 0, 40, 10), job(2, 12, 1, 10000), job(3, 100, 1, 10000)});

  stage.run();

  EXPECT_EQ(stage.verdict(1).kind, VerdictKind::Admit);
  EXPECT_GT(stage.finish(1), 10);
  EXPECT_EQ(stage.verdict(2).reason, Reason::LateJobVeto);
  EXPECT_EQ(stage.verdict(3).kind, VerdictKind::Admit);
}

TEST(ElasticFlowArtifact, GpusOfAFinishedJobIdleUntilTheNextRound) {
  Stage stage;
  stage.submit({job(1, 0, 22, 1000), job(2, 0, 400, 1000)});

  stage.run_until(11);
  ASSERT_EQ(stage.finish(1), 11);  // Two GPUs each.
  EXPECT_EQ(stage.share(2), 2);
  stage.run_until(20);

  EXPECT_EQ(stage.share(2), 4);
}

TEST(ElasticFlowArtifact, BestEffortJobsAreNeverRefused) {
  Stage stage;
  stage.submit({best_effort(1, 0, 50), job(2, 0, 1000, 20)});

  stage.run();

  EXPECT_EQ(stage.verdict(1).kind, VerdictKind::Admit);
  EXPECT_EQ(stage.verdict(1).promised, kNever);
  EXPECT_EQ(stage.verdict(2).kind, VerdictKind::Refuse);
  EXPECT_GT(stage.finish(1), 0);
}

TEST(ElasticFlowArtifact, RefusesAtOnceWhatHasNoSpeedHere) {
  Stage stage;
  Job other = job(1, 0, 10, 100);
  other.gpu_type = "H100";
  stage.submit({other, job(2, 0, 10, 100)});

  stage.run();

  EXPECT_EQ(stage.verdict(1).reason, Reason::UnknownSpeed);
  EXPECT_EQ(stage.verdict(2).kind, VerdictKind::Admit);
}

TEST(ElasticFlowArtifact, JobsOutliveLostNodes) {
  Stage stage({.cluster = "2x2"});
  stage.submit({job(1, 0, 100, 60), job(2, 0, 40, 1000)});

  stage.run_until(5);
  stage.set_gpus(2);
  stage.run_until(20);
  EXPECT_EQ(stage.share(1), 2);
  stage.set_gpus(0);
  stage.run_until(40);
  stage.set_gpus(4);
  stage.run();

  EXPECT_GT(stage.finish(1), 40);
  EXPECT_GT(stage.finish(2), 40);
}

TEST(ElasticFlowArtifact, AJobThatEndedOnlyInTheBooksRunsOn) {
  Stage stage;
  stage.submit({job(1, 0, 100, 60)});

  stage.run_until(20);
  stage.crash(1);
  stage.run();

  EXPECT_EQ(stage.finish(1), 45);  // A round at once, then 100 steps on four GPUs.
}

TEST(ElasticFlowArtifact, TakesTheEnginesWordForWhatIsLeft) {
  Stage stage;
  stage.submit({job(1, 0, 100, 40), job(2, 25, 1, 1000)});

  stage.run_until(20);
  stage.crash(1);  // By the books 20 steps are left, in truth 100: it will be late.
  stage.run();

  EXPECT_EQ(stage.verdict(2).reason, Reason::LateJobVeto);
}

// Promises may be broken even without pauses: each round cuts time into slots of its own.
TEST(ElasticFlowArtifact, FinishesWhatItAdmitsAndSurvivesReloading) {
  for (const ResizeCostModel accounting : {ResizeCostModel::None, ResizeCostModel::Artifact}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Stage plain({.accounting = accounting});
      Stage reloaded({.accounting = accounting, .reloads = true});
      plain.submit(random_artifact_jobs(seed));
      reloaded.submit(random_artifact_jobs(seed));

      plain.run();
      reloaded.run();

      ASSERT_EQ(plain.finishes(), reloaded.finishes()) << "seed " << seed;
      for (const auto& [id, verdict] : plain.verdicts()) {
        ASSERT_EQ(verdict.kind == VerdictKind::Admit, plain.finishes().contains(id))
            << "seed " << seed;
      }
    }
  }
}

TEST(ElasticFlowArtifact, RejectsOptionsAndForeignState) {
  EXPECT_FALSE(make_elasticflow_artifact(*PolicyOptions::parse("slot=3")).ok());
  const auto policy = make_elasticflow_artifact(PolicyOptions{}).value();

  EXPECT_FALSE(policy->load("tenant 1 2\n").ok());
  EXPECT_FALSE(policy->load("job 1\n").ok());
  EXPECT_TRUE(policy->load("").ok());
}

}  // namespace
}  // namespace rubato::policy::artifact
