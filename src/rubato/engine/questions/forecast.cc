#include "rubato/engine/questions/forecast.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <variant>

namespace rubato {
namespace {

constexpr long kDecisionsMin = 100;  // Who cannot have so many need not begin.

/// The copy and what a driver keeps beside it.
class PlayedEngine {
 public:
  PlayedEngine(Engine engine, JobId job) : engine_(std::move(engine)), job_(job) {
    wake_ = engine_.state().wake;
    now_ = engine_.state().now;
  }

  void feed(Instant now, const Event& event) {
    now_ = now;
    visits_ += static_cast<long>(engine_.state().jobs.size()) + 1;
    for (const Command& command : engine_.on(now, event)) {
      if (const auto* wake = std::get_if<Wake>(&command)) {
        wake_ = wake->at;
      } else if (const auto* answer = std::get_if<Answer>(&command)) {
        if (answer->verdict.kind == VerdictKind::Offer) {
          offers_.push_back(answer->verdict.job);
        }
      }
    }
    while (!offers_.empty()) {
      const JobId job = offers_.front();
      offers_.pop_front();
      feed(now, OfferReply{.job = job, .accepted = true});
    }
  }

  [[nodiscard]] Forecast play(long visits_max) {
    Forecast result;
    while (visits_ < visits_max && engine_.state().jobs.find(job_) != nullptr) {
      const Ending next = next_ending();
      if (next.at == kNever && wake_ == kNever) {
        break;
      }
      if (next.at > wake_) {
        const Instant due = std::max(now_, std::exchange(wake_, kNever));
        feed(due, Tick{});
        continue;
      }
      if (next.job == job_) {
        const JobState& job = engine_.state().jobs.at(job_);
        result.finish = next.at;
        result.gpu_hours = job.usage.gpu_seconds_at(next.at, job.share) / 3600;
        break;
      }
      feed(next.at, Completion{.job = next.job});
    }
    result.visits = visits_;
    return result;
  }

 private:
  struct Ending {
    Instant at = kNever;
    JobId job{};
  };

  // Of the job that ends first, of several the oldest.
  [[nodiscard]] Ending next_ending() const {
    Ending first;
    engine_.state().jobs.for_each([&](const JobState& job) {
      if (job.share > 0) {
        const Instant at = job.progress.finish(job.job.work - job.job.padding);
        if (at < first.at) {
          first = {.at = at, .job = job.id()};
        }
      }
    });
    if (first.at != kNever) {
      first.at = std::max(first.at, now_);
    }
    return first;
  }

  Engine engine_;
  JobId job_;
  Instant now_{};
  Instant wake_ = kNever;
  std::deque<JobId> offers_;
  long visits_ = 0;
};

bool is_worth_beginning(const Engine& engine, long visits_max) {
  return static_cast<long>(engine.state().jobs.size()) * kDecisionsMin <= visits_max;
}

}  // namespace

Forecast forecast(const Engine& engine, JobId job, long visits_max) {
  if (!is_worth_beginning(engine, visits_max) || engine.state().jobs.find(job) == nullptr) {
    return {};
  }
  return PlayedEngine(engine.fork(), job).play(visits_max);
}

Forecast forecast_arrival(const Engine& engine, Instant now, const Job& job, long visits_max) {
  if (!is_worth_beginning(engine, visits_max)) {
    return {};
  }
  PlayedEngine played(engine.fork(), job.id);
  played.feed(now, Arrival{.job = job});
  return played.play(visits_max);
}

}  // namespace rubato
