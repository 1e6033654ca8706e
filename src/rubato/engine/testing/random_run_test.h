// Test support: drives an engine through a random but repeatable life.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "rubato/base/random.h"
#include "rubato/engine/record/journal.h"
#include "rubato/engine/testing/scripted_engine_test.h"

namespace rubato {

/// Plays driver: wakes the engine when it asked for it, completes jobs when they are done, and in
/// between lets jobs arrive, nodes fail and return, reports come in, late and false ones too.
class RandomRun {
 public:
  RandomRun(Engine& engine, std::uint64_t seed) : engine_(engine), random_(seed) {}

  /// The next thing that happens.
  void step() {
    const Instant finish = next_finish();
    const Instant next = later(now_, from_seconds(random_.exponential(20)));
    if (std::min(finish, wake_) <= next) {
      now_ = std::max(now_, std::min(finish, wake_));
      finish <= wake_ ? feed(Completion{.job = finishing_}) : feed(Tick{});
      return;
    }
    now_ = next;
    feed(surprise());
  }

  /// Rounds, each as soon as the engine asks for it, until the job runs; false if it never does.
  bool starts(JobId id) {
    constexpr int kRounds = 50;
    for (int i = 0; i < kRounds && wake_ != kNever; ++i) {
      now_ = std::max(now_, wake_);
      feed(Tick{});
      if (engine_.state().jobs.at(id).share > 0) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] Job draw_job() {
    Job job = rubato::job(next_id_++, random_.uniform(10, 2000), to_seconds(now_));
    job.tenant = kTenants[job.id.value % kTenants.size()];
    job.model = random_.chance(0.3) ? "close" : random_.chance(0.05) ? "unheard-of" : "linear";
    job.requested = 1 << random_.integer(0, 3);
    job.duration = seconds(random_.uniform(10, 500));
    const double kind = random_.uniform();
    job.job_class = kind < 0.6 ? JobClass::Slo : kind < 0.8 ? JobClass::Soft : JobClass::BestEffort;
    if (job.job_class != JobClass::BestEffort) {
      job.deadline = later(now_, seconds(random_.uniform(5, 1500)));
    }
    return job;
  }

  void feed(const Event& event) {
    wake_ = std::holds_alternative<Tick>(event) && wake_ <= now_ ? kNever : wake_;
    const Commands commands = engine_.on(now_, event);
    journal_ += event_line(now_, event);
    for (const Command& command : commands) {
      journal_ += command_line(command);
      if (const auto* wake = std::get_if<Wake>(&command)) {
        wake_ = wake->at;
      }
    }
    last_ = commands;
    for (const Answer& answer : only<Answer>(commands)) {
      if (answer.verdict.kind == VerdictKind::Offer) {
        feed(OfferReply{.job = answer.verdict.job, .accepted = ++offers_ % 3 != 0});
        last_.insert(last_.begin(), commands.begin(), commands.end());
      }
    }
  }

  void join(const NodeJoin& joining) {
    last_ = engine_.on(now_, joining);
    journal_ += event_line(now_, joining);
    for (const Command& command : last_) {
      journal_ += command_line(command);
      if (const auto* wake = std::get_if<Wake>(&command)) {
        wake_ = wake->at;
      }
    }
  }

  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] const Commands& last() const { return last_; }
  /// Events and commands so far, as text.
  [[nodiscard]] const std::string& journal() const { return journal_; }

 private:
  static constexpr std::array<std::string_view, 3> kTenants = {"a", "b", "guest"};

  Instant next_finish() {
    Instant next = kNever;
    engine_.state().jobs.for_each([&](const JobState& job) {
      const Instant finish = job.share > 0 ? job.progress.finish(job.job.work) : kNever;
      if (finish < next) {
        next = finish;
        finishing_ = job.id();
      }
    });
    return next;
  }

  Event surprise() {
    const double kind = random_.uniform();
    const auto any_job = [&] { return JobId{random_.next() % (next_id_ + 1)}; };
    if (kind < 0.6) {
      return Arrival{.job = draw_job()};
    }
    if (kind < 0.7) {
      return NodeChange{.node = NodeId{random_.next() % engine_.state().topology.nodes().size()},
                        .up = random_.chance(0.6)};
    }
    if (kind < 0.75) {
      return Completion{.job = any_job(), .outcome = Outcome::Cancelled};
    }
    const JobId id = any_job();
    const JobState* job = engine_.state().jobs.find(id);
    const int share = job == nullptr ? 1 : job->share;
    return ProgressReport{
        .job = id,
        .done = job == nullptr ? 0 : job->progress.at(now_) * random_.uniform(0.9, 1),
        .speed = random_.chance(0.5) ? 0.9 * share : 0,
        .workers = share - (random_.chance(0.1) ? 1 : 0)};
  }

  Engine& engine_;
  Random random_;
  Instant now_{};
  Instant wake_ = kNever;
  JobId finishing_{};
  std::uint64_t next_id_ = 1;
  int offers_ = 0;  // Every third is declined.
  Commands last_;
  std::string journal_;
};

inline constexpr std::array<ResizeCostModel, 3> kAccountings = {
    ResizeCostModel::None, ResizeCostModel::Artifact, ResizeCostModel::Physical};

}  // namespace rubato
