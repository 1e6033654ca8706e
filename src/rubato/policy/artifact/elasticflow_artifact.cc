#include "rubato/policy/artifact/elasticflow_artifact.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include "rubato/policy/artifact/books.h"
#include "rubato/policy/artifact/caps.h"
#include "rubato/policy/artifact/greedy.h"
#include "rubato/policy/artifact/groups.h"
#include "rubato/policy/artifact/round.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::artifact {
namespace {

constexpr double kWorkMin = 1e-9;  // Steps; a plan must have something to plan.

WholeSeconds seconds_up(Instant moment) {
  return std::chrono::ceil<std::chrono::seconds>(moment.time_since_epoch()).count();
}

WholeSeconds deadline_of(const JobState& job) {
  const bool is_hard = job.job_class == JobClass::Slo && job.job.has_deadline();
  return is_hard
             ? std::chrono::floor<std::chrono::seconds>(job.job.deadline.time_since_epoch()).count()
             : kForever;
}

Instant instant_of(WholeSeconds seconds) {
  return seconds >= kForever ? kNever : Instant{std::chrono::seconds{seconds}};
}

// The artifact knows one GPU type: ours is the largest pool.
const Pool& pool_of(const View& view) {
  return *std::ranges::max_element(view.topology.pools(), {}, &Pool::gpus);
}

// The worker counts a job may have on this many GPUs.
std::vector<ScalingPoint> levels_of(const BookedJob& job, const View& view, int gpus) {
  std::vector<ScalingPoint> levels;
  for (const ScalingPoint& point : view.speeds.curve(job.speed, pool_of(view).id).points()) {
    if (point.workers <= std::min(job.gpus_max, gpus)) {
      levels.push_back(point);
    }
  }
  return levels;
}

BookedJob booked(const JobState& job, const View& view) {
  return BookedJob{.id = job.id(),
                   .speed = job.speed,
                   .gpus_max = gpus_max(job.job.model, job.job.batch, pool_of(view).gpu_type),
                   .deadline = deadline_of(job),
                   .left = std::max(job.work_left(view.now), kWorkMin)};
}

class ElasticFlowArtifact final : public Policy {
 public:
  [[nodiscard]] Traits traits() const override {
    return Traits{.resizes = true, .promises = true, .artifact_charge = ArtifactCharge::EveryRound};
  }

  [[nodiscard]] Decision on(const Event& event, const View& view) override {
    Decision decision;
    if (std::holds_alternative<Tick>(event)) {
      decision = hold_round(view);
    } else if (const auto* arrival = std::get_if<Arrival>(&event)) {
      decision.verdicts.push_back(receive(view.jobs.at(arrival->job.id), view));
    } else if (const auto* completion = std::get_if<Completion>(&event)) {
      remove_job(*completion, view);
    } else if (const auto* report = std::get_if<ProgressReport>(&event)) {
      notice_loss(report->job, view);
    } else if (std::holds_alternative<NodeChange>(event)) {
      next_round_ = std::min(next_round_, seconds_up(view.now));
    }
    decision.wake_at = instant_of(next_round_);
    return decision;
  }

  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) override;

 private:
  // Asks for a round now, or a slot after the last one if that is later.
  void expect_round(const View& view) {
    const WholeSeconds now = seconds_up(view.now);
    const WholeSeconds soonest = has_begun_ ? last_round_ + slot_of(view) : now;
    next_round_ = std::min(next_round_, std::max(now, soonest));
  }

  static WholeSeconds slot_of(const View& view) {
    return std::max<WholeSeconds>(1, std::chrono::round<std::chrono::seconds>(view.slot).count());
  }

  // An arrival waits for its round; only what can never run is refused at once.
  Verdict receive(const JobState& job, const View& view) {
    const BookedJob entry = booked(job, view);
    if (levels_of(entry, view, pool_of(view).gpus).empty()) {
      const bool is_unknown = view.curve(job, pool_of(view).id).empty();
      return Verdict{.job = job.id(),
                     .kind = VerdictKind::Refuse,
                     .reason = is_unknown ? Reason::UnknownSpeed : Reason::TooWide};
    }
    expect_round(view);
    return Verdict{.job = job.id(), .kind = VerdictKind::Defer, .reason = Reason::WaitingForTurn};
  }

  // A finished job stays in the books until they say so; one that was cancelled leaves them.
  void remove_job(const Completion& completion, const View& view) {
    const auto found = std::ranges::find(books_, completion.job, &BookedJob::id);
    if (found == books_.end()) {
      return;
    }
    if (completion.outcome == Outcome::Finished) {
      found->has_finished = true;
    } else {
      books_.erase(found);
      expect_round(view);
    }
  }

  // A report that cost the job its workers calls for a round.
  void notice_loss(JobId id, const View& view) {
    const JobState* job = view.jobs.find(id);
    const auto found = std::ranges::find(books_, id, &BookedJob::id);
    if (job != nullptr && found != books_.end() && found->gpus > 0 && job->share == 0) {
      expect_round(view);
    }
  }

  Decision hold_round(const View& view) {
    const Pool& pool = pool_of(view);
    const Frame frame{
        .now = seconds_up(view.now), .slot = slot_of(view), .gpus = view.capacity[pool.id.value]};
    bring_up_to(frame.now, view);
    for (BookedJob& job : books_) {
      job.levels = levels_of(job, view, frame.gpus);
    }
    const Books arrivals = arrivals_of(view, frame.gpus);
    Steps free;
    const std::vector<Reason> reasons = admit(books_, arrivals, frame, free);
    hand_out(books_, frame, free);
    charge(books_, groups_, view.costs);
    has_begun_ = true;
    last_round_ = frame.now;
    next_round_ = next_round(books_, frame.now, frame.slot);

    Decision decision{.is_round = true, .targets = targets(pool.id)};
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      decision.verdicts.push_back(verdict_on(arrivals[i].id, reasons[i], view));
    }
    return decision;
  }

  // Progress and ends since the last round. Our jobs may be behind the books, because their GPUs
  // are placed otherwise and their pauses differ: then what is truly left counts, and a job that
  // ended in the books but still runs goes on.
  void bring_up_to(WholeSeconds now, const View& view) {
    const PoolId pool = pool_of(view).id;
    std::erase_if(books_, [&](BookedJob& job) {
      const double speed = view.speeds.curve(job.speed, pool).speed(job.gpus);
      const bool ends = advance(job, now, now - last_round_, speed);
      const JobState* running = view.jobs.find(job.id);
      if (running != nullptr) {
        job.left = std::max({job.left, running->work_left(view.now), kWorkMin});
      }
      return ends && running == nullptr;
    });
  }

  // The jobs that wait for their verdict, in the order they came.
  Books arrivals_of(const View& view, int gpus) const {
    std::vector<JobId> known;
    std::ranges::transform(books_, std::back_inserter(known), &BookedJob::id);
    std::ranges::sort(known);
    Books arrivals;
    view.jobs.for_each([&](const JobState& job) {
      if (!std::ranges::binary_search(known, job.id())) {
        arrivals.push_back(booked(job, view));
        arrivals.back().levels = levels_of(arrivals.back(), view, gpus);
      }
    });
    return arrivals;
  }

  static Verdict verdict_on(JobId id, Reason reason, const View& view) {
    if (reason != Reason::None) {
      return Verdict{.job = id, .kind = VerdictKind::Refuse, .reason = reason};
    }
    const JobState& job = view.jobs.at(id);
    const bool is_promise = deadline_of(job) != kForever;
    return Verdict{.job = id, .promised = is_promise ? job.job.deadline : kNever};
  }

  [[nodiscard]] std::vector<Target> targets(PoolId pool) const {
    std::vector<Target> targets;
    for (const BookedJob& job : books_) {
      if (!job.has_finished) {
        targets.push_back(Target{.job = job.id, .pool = pool, .workers = job.gpus});
      }
    }
    return targets;
  }

  Books books_;
  Groups groups_;
  bool has_begun_ = false;
  WholeSeconds last_round_ = 0;
  WholeSeconds next_round_ = kForever;
};

std::string ElasticFlowArtifact::save() const {
  std::string state;
  append_line(state, "round", {has_begun_ ? 1 : 0, last_round_, next_round_, groups_.rounds()});
  for (const Group& group : groups_.known()) {
    append_line(state, "group", {group.first_gpu, group.gpus});
  }
  for (const BookedJob& job : books_) {
    append_line(
        state, "job",
        {static_cast<std::int64_t>(job.id.value), static_cast<std::int64_t>(job.speed.value),
         job.gpus_max, job.deadline, std::bit_cast<std::int64_t>(job.left), job.gpus, job.pause,
         job.end, job.real_end, job.has_finished ? 1 : 0});
  }
  return state;
}

Status ElasticFlowArtifact::load(std::string_view state) {
  const auto lines = read_lines(state);
  if (!lines) {
    return lines.error();
  }
  *this = ElasticFlowArtifact{};
  int rounds = 0;
  std::set<Group> known;
  for (const SavedLine& line : *lines) {
    const std::vector<std::int64_t>& given = line.numbers;
    if (line.word == "round" && given.size() == 4) {
      has_begun_ = given[0] != 0;
      last_round_ = given[1];
      next_round_ = given[2];
      rounds = static_cast<int>(given[3]);
    } else if (line.word == "group" && given.size() == 2) {
      known.insert({.first_gpu = static_cast<int>(given[0]), .gpus = static_cast<int>(given[1])});
    } else if (line.word == "job" && given.size() == 10) {
      books_.push_back(BookedJob{.id = JobId{static_cast<std::uint64_t>(given[0])},
                                 .speed = SpeedId{static_cast<std::uint64_t>(given[1])},
                                 .gpus_max = static_cast<int>(given[2]),
                                 .deadline = given[3],
                                 .left = std::bit_cast<double>(given[4]),
                                 .gpus = static_cast<int>(given[5]),
                                 .pause = given[6],
                                 .end = given[7],
                                 .real_end = given[8],
                                 .has_finished = given[9] != 0});
    } else {
      return unexpected(line);
    }
  }
  groups_.restore(rounds, std::move(known));
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<Policy>> make_elasticflow_artifact(const PolicyOptions& options) {
  const Status known = options.only({});
  if (!known) {
    return known.error();
  }
  return std::unique_ptr<Policy>(std::make_unique<ElasticFlowArtifact>());
}

PolicyInfo elasticflow_artifact_policy() {
  return {.name = "elasticflow-artifact",
          .paper = "ElasticFlow, ASPLOS'23 (published simulator)",
          .fidelity = "as the artifact behaves, defects included",
          .objective = "deadlines met, least GPU time",
          .needs = "speed curve, deadline",
          .use_when = "to compare with published figures",
          .make = make_elasticflow_artifact};
}

}  // namespace rubato::policy::artifact
