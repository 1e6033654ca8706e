#include "rubato/policy/tiresias/tiresias.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

#include "rubato/policy/rounds/emptiest_nodes.h"
#include "rubato/policy/rounds/gang_policy.h"
#include "rubato/policy/rounds/pools_fill.h"
#include "rubato/policy/tiresias/gittins.h"
#include "rubato/policy/tiresias/job_heap.h"
#include "rubato/policy/tiresias/longest_run.h"
#include "rubato/policy/tiresias/queue_rank.h"

namespace rubato::policy::tiresias {
namespace {

// Service within this fraction of a threshold has reached it: run times are rounded.
constexpr double kReached = 1 - 1e-9;

// Gittins indices per GPU-second become whole numbers; one job in 10^15 GPU-seconds still counts.
constexpr double kIndexScale = 1e15;

/// What is remembered about one job.
struct QueueStanding {
  std::int64_t rank = 0;
  Instant change_at = kNever;  // Running: may reach its threshold. Waiting: will be promoted.
  Duration forgiven{};         // Run time before its last promotion.
  std::int64_t service = 0;    // What it needs in all; its secret, used only when it is over.
};

class Tiresias final : public rounds::GangPolicy {
 public:
  explicit Tiresias(TiresiasOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string save() const override;

 protected:
  void joins(const JobState& job, const View& view) override;
  void loses_workers(const JobState& job, const View& view) override {
    send_to_front({job.id()}, view);
  }
  void leaves(JobId job, Outcome outcome) override;
  void measured(const JobState& job, const View& view) override;
  void hold_round(const View& view, Decision& decision) override;
  [[nodiscard]] bool needs_round() const override { return true; }
  [[nodiscard]] Instant next_change(const View& view) const override {
    return std::max(view.now, alarm_);
  }
  [[nodiscard]] Status restore(const SavedLine& line) override;
  void clear() override;

 private:
  [[nodiscard]] Duration executed(const JobState& job, const View& view) const;
  [[nodiscard]] double attained(const JobState& job, const View& view) const;
  [[nodiscard]] std::int64_t service_of(const JobState& job, const View& view) const;
  [[nodiscard]] Instant threshold_reached_at(const JobState& job, Duration ran,
                                             const View& view) const;
  [[nodiscard]] std::int64_t last_in(std::size_t queue, const JobState& job, const View& view);
  [[nodiscard]] auto is_expected(bool of_running) const;
  void expect_change(JobId job, Instant at);
  [[nodiscard]] Instant first_of(JobHeap& changes) const;
  void rank_as(const JobState& job, std::int64_t rank);
  void watch_running(const JobState& job, const View& view);
  void watch_waiting(const JobState& job, Instant promotion);
  void send_to_front(const std::vector<JobId>& jobs, const View& view);
  void let_fall(const JobState& job, const View& view);
  void promote(const JobState& job, const View& view);
  void handle_due(const View& view);
  [[nodiscard]] Instant late_guess(const View& view);
  void fill(const View& view, Decision& decision);
  void remember(std::int64_t service);
  void place(const rounds::PoolsFill::Changes& changes, const View& view, Decision& decision) const;

  TiresiasOptions options_;
  std::unordered_map<JobId, QueueStanding> standings_;  // Looked up; walked only to be saved.
  std::int64_t front_ = 0;  // Numbers handed out at the front of the lines and at their back.
  std::int64_t back_ = 0;
  Instant alarm_ = kNever;            // When the next round is due though nothing happens.
  std::deque<std::int64_t> history_;  // Services of finished jobs, oldest first, in millionths.

  // Caches of the above.
  rounds::PoolsFill pools_;
  JobHeap falls_;       // When running jobs reach a threshold.
  JobHeap promotions_;  // When waiting jobs rise.
  LongestRun longest_;
  GittinsIndex index_;
  std::vector<JobId> fallen_;  // At the round being held; still behind the waiting.
};

Duration Tiresias::executed(const JobState& job, const View& view) const {
  const rounds::Gang& where = gang(job.id());
  const double speed = view.speed(job, where.pool, where.workers);
  const Duration total = speed > 0 ? from_seconds(job.progress.at(view.now) / speed) : Duration{};
  return std::max(Duration{}, total - standings_.at(job.id()).forgiven);
}

double Tiresias::attained(const JobState& job, const View& view) const {
  return to_seconds(executed(job, view)) * gang(job.id()).workers;
}

// What the job needs in all, in whole millionths of GPU-seconds, so that saving loses nothing.
std::int64_t Tiresias::service_of(const JobState& job, const View& view) const {
  const rounds::Gang& where = gang(job.id());
  const double speed = view.speed(job, where.pool, where.workers);
  return speed > 0 ? from_seconds(job.job.work / speed).count() * where.workers : 0;
}

// When a running job that has run so long reaches its next threshold if it goes on; too early if it
// has yet to start, for its pause is not known then.
Instant Tiresias::threshold_reached_at(const JobState& job, Duration ran, const View& view) const {
  const std::size_t queue = queue_of(standings_.at(job.id()).rank);
  if (queue >= options_.thresholds.size()) {
    return kNever;
  }
  const double run_time = options_.thresholds[queue] / gang(job.id()).workers;
  const Duration left = from_seconds_up(run_time) - ran;
  const Instant from = job.share > 0 ? std::max(view.now, job.progress.paused_until) : view.now;
  return later(from, std::max(Duration{}, left));
}

// The rank of a job that now enters a queue: by its index, or behind all who wait there.
std::int64_t Tiresias::last_in(std::size_t queue, const JobState& job, const View& view) {
  if (options_.gittins) {
    const double scaled = std::min(index_.at(attained(job, view)) * kIndexScale, 1e15);
    return rank_value(queue, false, -static_cast<std::int64_t>(scaled));
  }
  return rank_value(queue, !options_.by_arrival, ++back_);
}

// Tells the entries of falls_, or of promotions_, that hold.
auto Tiresias::is_expected(bool of_running) const {
  return [this, of_running](const JobHeap::Entry& entry) {
    const auto found = standings_.find(entry.second);
    return found != standings_.end() && found->second.change_at == entry.first &&
           is_running(entry.second) == of_running;
  };
}

void Tiresias::expect_change(JobId job, Instant at) {
  standings_.at(job).change_at = at;
  if (at != kNever) {
    const bool runs = is_running(job);
    (runs ? falls_ : promotions_).add({at, job}, standings_.size(), is_expected(runs));
  }
}

// The moment of the first entry that holds.
Instant Tiresias::first_of(JobHeap& changes) const {
  const JobHeap::Entry* first = changes.first(is_expected(&changes == &falls_));
  return first == nullptr ? kNever : first->first;
}

void Tiresias::rank_as(const JobState& job, std::int64_t rank) {
  standings_.at(job.id()).rank = rank;
  const rounds::Rank place{rank, job.job.arrival, job.id()};
  if (is_running(job.id())) {
    pools_.run(place, gang(job.id()), choices(job.id()));
  } else {
    pools_.wait(place, choices(job.id()));
  }
}

// The job runs, and will fall some day.
void Tiresias::watch_running(const JobState& job, const View& view) {
  const Duration ran = executed(job, view);
  const std::size_t queue = queue_of(standings_.at(job.id()).rank);
  longest_.set(job.id(), {queue, gang(job.id()).workers}, view.now - ran);
  expect_change(job.id(), threshold_reached_at(job, ran, view));
}

// The job waits, and cannot fall.
void Tiresias::watch_waiting(const JobState& job, Instant promotion) {
  longest_.erase(job.id());
  expect_change(job.id(), promotion);
}

void Tiresias::joins(const JobState& job, const View& view) {
  pools_.resize(view.topology.pools().size());
  const auto [found, is_new] = standings_.try_emplace(job.id());
  if (is_new) {
    found->second.service = service_of(job, view);
    found->second.rank = last_in(0, job, view);
  }
  const Instant loaded = found->second.change_at;
  rank_as(job, found->second.rank);
  if (is_running(job.id())) {
    watch_running(job, view);
  }
  if (!is_new) {
    expect_change(job.id(), loaded);
  }
}

void Tiresias::measured(const JobState& job, const View& view) {
  standings_.at(job.id()).service = service_of(job, view);
  if (is_running(job.id())) {
    watch_running(job, view);
  }
}

void Tiresias::leaves(JobId job, Outcome outcome) {
  const auto found = standings_.find(job);
  if (found == standings_.end()) {
    return;
  }
  if (is_member(job)) {
    expect_change(job, kNever);
    longest_.erase(job);
    pools_.erase(job);
  }
  if (options_.gittins && outcome == Outcome::Finished) {
    remember(found->second.service);
  }
  standings_.erase(found);
}

void Tiresias::remember(std::int64_t service) {
  history_.push_back(service);
  if (history_.size() > TiresiasOptions::kHistoryMax) {
    history_.pop_front();
  }
  std::vector<double> gpu_seconds;
  for (const std::int64_t each : history_) {
    gpu_seconds.push_back(static_cast<double>(each) / 1e6);
  }
  index_ = GittinsIndex(gpu_seconds);
}

// Stopped jobs, in rank order: ahead of all who waited before them in their queue.
void Tiresias::send_to_front(const std::vector<JobId>& jobs, const View& view) {
  front_ -= static_cast<std::int64_t>(jobs.size());
  std::int64_t number = front_;
  for (const JobId id : jobs) {
    const JobState& job = view.jobs.at(id);
    const std::int64_t old = standings_.at(id).rank;
    const std::size_t queue = queue_of(old);
    if (options_.gittins) {
      rank_as(job, last_in(queue, job, view));
    } else if (options_.by_arrival) {
      rank_as(job, old);
    } else {
      rank_as(job, stands_with_waiting(old) ? old : rank_value(queue, true, number));
    }
    ++number;
    const bool can_rise = options_.knob > 0 && queue > 0;
    const double patience = can_rise ? options_.knob * to_seconds(executed(job, view)) : 0;
    watch_waiting(job, can_rise ? later(view.now, from_seconds_up(patience)) : kNever);
  }
}

// Who falls is watched anew at the end of the round, when it is known whether it still runs.
void Tiresias::let_fall(const JobState& job, const View& view) {
  const double service = attained(job, view);
  const std::size_t from = queue_of(standings_.at(job.id()).rank);
  std::size_t queue = from;
  while (queue < options_.thresholds.size() && service >= options_.thresholds[queue] * kReached &&
         (queue == from || options_.falls_promptly)) {
    ++queue;
  }
  if (queue != from) {
    rank_as(job, last_in(queue, job, view));
    fallen_.push_back(job.id());
  } else {
    expect_change(job.id(), threshold_reached_at(job, executed(job, view), view));
  }
}

void Tiresias::promote(const JobState& job, const View& view) {
  standings_.at(job.id()).forgiven += executed(job, view);
  rank_as(job, last_in(0, job, view));
  watch_waiting(job, kNever);
}

// Falls and promotions that are due; the widest jobs first, then by (arrival, id).
void Tiresias::handle_due(const View& view) {
  std::vector<std::tuple<int, Instant, JobId>> due;
  for (JobHeap* changes : {&falls_, &promotions_}) {
    const auto holds = is_expected(changes == &falls_);
    for (const auto* first = changes->first(holds); first != nullptr && first->first <= view.now;
         first = changes->first(holds)) {
      const JobId id = first->second;
      due.emplace_back(-gang(id).workers, view.jobs.at(id).job.arrival, id);
      standings_.at(id).change_at = kNever;
      changes->drop_first();
    }
  }
  std::ranges::sort(due);
  for (const auto& [width, arrival, id] : due) {
    const JobState& job = view.jobs.at(id);
    if (is_running(id)) {
      let_fall(job, view);
    } else {
      promote(job, view);
    }
  }
}

// The published simulator's guess at the next fall: takes seconds for GPU-seconds, counts in whole
// seconds. Never too early; exact for jobs on one GPU and for those that start anew.
Instant Tiresias::late_guess(const View& view) {
  Instant guess = kNever;
  const auto began = [&](JobId id) { return view.now - executed(view.jobs.at(id), view); };
  longest_.for_each_first(began, [&](const LongestRun::Group& group, JobId id) {
    const auto [queue, workers] = group;
    if (queue < options_.thresholds.size()) {
      const double ran = std::floor(to_seconds(executed(view.jobs.at(id), view)));
      const double seconds = std::ceil((options_.thresholds[queue] - ran) / workers);
      guess = std::min(guess, later(view.now, from_seconds(std::max(1.0, seconds))));
    }
  });
  return guess;
}

// Names the nodes of the jobs that start or move.
void Tiresias::place(const rounds::PoolsFill::Changes& changes, const View& view,
                     Decision& decision) const {
  std::vector<JobId> leaving = changes.stops;
  std::ranges::transform(changes.moves, std::back_inserter(leaving), &rounds::PoolsFill::Seat::job);
  std::ranges::sort(leaving);
  std::map<PoolId, rounds::EmptiestNodes> nodes;
  for (Target& target : decision.targets) {
    if (target.workers > 0) {
      const auto found = nodes.try_emplace(target.pool, view, target.pool, leaving).first;
      target.nodes = found->second.take(target.workers);
    }
  }
}

void Tiresias::fill(const View& view, Decision& decision) {
  const rounds::PoolsFill::Changes changes = pools_.fill(view.capacity);
  for (const JobId job : changes.stops) {
    stop(job, decision);
  }
  send_to_front(changes.stops, view);
  for (const auto& [id, where] : changes.moves) {
    move(id, where, decision);
    rank_as(view.jobs.at(id), standings_.at(id).rank);
    watch_running(view.jobs.at(id), view);
  }
  // Who starts, and behind them who fell and still runs, joins the end of the running.
  std::vector<JobId> joiners;
  for (const auto& [id, where] : changes.starts) {
    start(id, where, decision);
    joiners.push_back(id);
  }
  if (options_.on_emptiest) {
    place(changes, view, decision);
  }
  std::ranges::copy_if(fallen_, std::back_inserter(joiners),
                       [&](JobId job) { return is_running(job); });
  for (const JobId id : joiners) {
    const JobState& job = view.jobs.at(id);
    const std::size_t queue = queue_of(standings_.at(id).rank);
    const std::int64_t rank = options_.by_arrival ? standings_.at(id).rank
                              : options_.gittins  ? last_in(queue, job, view)
                                                  : rank_value(queue, false, ++back_);
    rank_as(job, rank);
    watch_running(job, view);
  }
}

void Tiresias::hold_round(const View& view, Decision& decision) {
  fallen_.clear();
  handle_due(view);
  fill(view, decision);
  const Instant fall = options_.falls_promptly ? first_of(falls_) : late_guess(view);
  alarm_ = std::min(fall, first_of(promotions_));
}

std::string Tiresias::save() const {
  std::string state = rounds::GangPolicy::save();
  append_line(state, "line", {front_, back_, alarm_.time_since_epoch().count()});
  const std::map<JobId, QueueStanding> in_order(standings_.begin(), standings_.end());
  for (const auto& [job, standing] : in_order) {
    append_line(state, "job",
                {static_cast<std::int64_t>(job.value), standing.rank,
                 standing.change_at.time_since_epoch().count(), standing.forgiven.count(),
                 standing.service});
  }
  for (const std::int64_t service : history_) {
    append_line(state, "finished", {service});
  }
  return state;
}

Status Tiresias::restore(const SavedLine& line) {
  const std::vector<std::int64_t>& numbers = line.numbers;
  if (line.word == "line" && numbers.size() == 3) {
    front_ = numbers[0];
    back_ = numbers[1];
    alarm_ = Instant{Duration{numbers[2]}};
  } else if (line.word == "job" && numbers.size() == 5) {
    standings_[JobId{static_cast<std::uint64_t>(numbers[0])}] =
        QueueStanding{.rank = numbers[1],
                      .change_at = Instant{Duration{numbers[2]}},
                      .forgiven = Duration{numbers[3]},
                      .service = numbers[4]};
  } else if (line.word == "finished" && numbers.size() == 1) {
    remember(numbers[0]);
  } else {
    return unexpected(line);
  }
  return ok_status();
}

void Tiresias::clear() {
  standings_.clear();
  front_ = 0;
  back_ = 0;
  alarm_ = kNever;
  history_.clear();
  pools_.clear();
  falls_.clear();
  promotions_.clear();
  longest_.clear();
  index_ = GittinsIndex();
  fallen_.clear();
}

Status check(const std::vector<double>& thresholds) {
  const bool rises = std::ranges::is_sorted(thresholds, std::less_equal{});
  if (thresholds.empty() || thresholds.size() > TiresiasOptions::kThresholdsMax ||
      thresholds.front() <= 0 || !rises) {
    return bad_input(
        fmt::format("policy option thresholds: expected 1 to {} rising GPU-seconds, such as "
                    "3250/7200",
                    TiresiasOptions::kThresholdsMax));
  }
  return ok_status();
}

}  // namespace

std::unique_ptr<Policy> make_tiresias(TiresiasOptions options) {
  return std::make_unique<Tiresias>(std::move(options));
}

Result<std::unique_ptr<Policy>> make_tiresias(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 6> kKeys = {"thresholds", "order",   "falls",
                                                            "place",      "gittins", "knob"};
  static constexpr std::array<std::string_view, 2> kPlaces = {"placer", "emptiest"};
  static constexpr std::array<std::string_view, 2> kOrders = {"artifact", "arrival"};
  static constexpr std::array<std::string_view, 2> kFalls = {"artifact", "prompt"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  TiresiasOptions chosen;
  const auto thresholds = options.numbers("thresholds", chosen.thresholds);
  const bool as_published = thresholds && *thresholds == chosen.thresholds;
  const auto order = options.word("order", as_published ? "artifact" : "arrival", kOrders);
  const auto falls = options.word("falls", as_published ? "artifact" : "prompt", kFalls);
  const auto place = options.word("place", as_published ? "placer" : "emptiest", kPlaces);
  const auto gittins = options.flag("gittins", chosen.gittins);
  const auto knob = options.number("knob", chosen.knob, 0, 1e9);
  if (!thresholds || !order || !falls || !place || !gittins || !knob) {
    return !thresholds ? thresholds.error()
           : !order    ? order.error()
           : !falls    ? falls.error()
           : !place    ? place.error()
           : !gittins  ? gittins.error()
                       : knob.error();
  }
  if (Status status = check(*thresholds); !status) {
    return status.error();
  }
  chosen.thresholds = *thresholds;
  chosen.by_arrival = *order == "arrival" && !*gittins;
  chosen.falls_promptly = *falls == "prompt";
  chosen.on_emptiest = *place == "emptiest";
  chosen.gittins = *gittins;
  chosen.knob = *knob;
  return make_tiresias(std::move(chosen));
}

PolicyInfo tiresias_policy() {
  return {.name = "tiresias",
          .paper = "Tiresias, NSDI'19",
          .fidelity = "as in the simulator published with ElasticFlow",
          .objective = "mean completion time, run times unknown",
          .needs = "requested GPUs",
          .use_when = "run times are unknown and jobs cannot be resized",
          .options =
              "thresholds=3250/7200 (GPU-s), order=artifact|arrival, falls=artifact|prompt, "
              "place=placer|emptiest, "
              "gittins=off, knob=0",
          .make = make_tiresias};
}

}  // namespace rubato::policy::tiresias
