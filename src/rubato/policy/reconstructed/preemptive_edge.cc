#include "rubato/policy/reconstructed/preemptive_edge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/policy/reconstructed/density_queue.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/rounds/round_timer.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::reconstructed {
namespace {

using rounds::Gang;

/// A chunk where it was put.
struct PlacedChunk {
  int worker = 0;  // Numbers 0, 1, ... stand for the pool's GPUs.
  Duration left{};
  bool runs = false;
};

/// A job cut into chunks.
struct CutJob {
  PoolId pool{};
  Chunk whole{};                      // Any of its chunks, as at arrival.
  std::vector<PlacedChunk> chunks{};  // Those that are not done.
};

/// Which workers of a pool are in use.
using Taken = std::vector<bool>;

class PreemptiveEdge final : public Policy {
 public:
  [[nodiscard]] Traits traits() const override {
    return Traits{.resizes = true, .promises = false};
  }
  [[nodiscard]] Decision on(const Event& event, const View& view) override;
  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) override;

 private:
  [[nodiscard]] Verdict judge(const JobState& job, const View& view);
  [[nodiscard]] std::vector<ChunkQueue> queues_of(PoolId pool, const View& view) const;
  [[nodiscard]] Chunk chunk_for(const JobState& job, const Gang& gang, const View& view) const;
  void keep_up(const View& view);
  void correct(CutJob& cut, const JobState& job, const View& view) const;
  [[nodiscard]] bool notice_stops(const View& view);
  [[nodiscard]] static int take_workers(CutJob& cut, const ScalingCurve& curve, int most,
                                        Taken& taken);
  [[nodiscard]] Decision hold_round(const View& view);
  [[nodiscard]] Instant next_change(const View& view) const;

  std::map<JobId, CutJob> jobs_;
  rounds::RoundTimer timer_;
  Instant kept_up_ = kNever;  // Until when the chunks' progress is counted.
};

// The job's workers in one pool: what it asked for, as far as the pool has them and more help.
std::optional<Gang> useful_gang(const JobState& job, const Pool& pool, const View& view) {
  const ScalingCurve& curve = view.curve(job, pool.id);
  if (curve.empty()) {
    return std::nullopt;
  }
  const ScalingPoint within = curve.best_within(std::min(job.job.requested, pool.gpus));
  return Gang{.pool = pool.id,
              .workers = within.workers > 0 ? within.workers : curve.smallest().workers};
}

Chunk PreemptiveEdge::chunk_for(const JobState& job, const Gang& gang, const View& view) const {
  const Duration length = std::max(rounds::run_time_left(job, gang, view), Duration{1});
  const Duration upload = view.topology.upload_time(gang.pool, job.job.region, job.job.data_gb);
  return Chunk{.length = length,
               .siblings = gang.workers,
               .left = length,
               .ready = std::max(view.now, later(job.job.arrival, upload)),
               .order = job.id().value};
}

// All workers of a pool with what they still have to do.
std::vector<ChunkQueue> PreemptiveEdge::queues_of(PoolId pool, const View& view) const {
  std::vector<ChunkQueue> queues(static_cast<std::size_t>(view.topology.pool(pool).gpus));
  for (const auto& [id, cut] : jobs_) {
    for (const PlacedChunk& each : cut.chunks) {
      if (cut.pool == pool) {
        Chunk chunk = cut.whole;
        chunk.left = each.left;
        queues[static_cast<std::size_t>(each.worker)].push_back(chunk);
      }
    }
  }
  return queues;
}

// The pool where the first chunk costs least takes them all.
Verdict PreemptiveEdge::judge(const JobState& job, const View& view) {
  double least = 0;
  CutJob best;
  std::vector<ChunkQueue> best_queues;
  for (const Pool& pool : view.topology.pools()) {
    const auto gang = useful_gang(job, pool, view);
    if (!gang) {
      continue;
    }
    std::vector<ChunkQueue> queues = queues_of(pool.id, view);
    const Chunk chunk = chunk_for(job, *gang, view);
    double cost = HUGE_VAL;
    for (const ChunkQueue& queue : queues) {
      cost = std::min(cost, joining_cost(queue, chunk, view.now));
    }
    if (best_queues.empty() || cost < least) {
      least = cost;
      best = CutJob{.pool = pool.id, .whole = chunk};
      best_queues = std::move(queues);
    }
  }
  if (best_queues.empty()) {
    return Verdict{
        .job = job.id(), .kind = VerdictKind::Refuse, .reason = rounds::why_unrunnable(job, view)};
  }
  for (const int worker : assign_chunks(best_queues, best.whole, view.now)) {
    best.chunks.push_back({.worker = worker, .left = best.whole.length});
  }
  jobs_[job.id()] = std::move(best);
  return Verdict{.job = job.id()};
}

// Makes what the chunks have left add up to what the job has left: pauses, measured speeds and
// speeds of fewer workers were not foreseen.
void PreemptiveEdge::correct(CutJob& cut, const JobState& job, const View& view) const {
  const Gang gang{.pool = cut.pool, .workers = cut.whole.siblings};
  const double needed = to_seconds(rounds::run_time_left(job, gang, view)) * cut.whole.siblings;
  double counted = 0;
  for (const PlacedChunk& each : cut.chunks) {
    counted += to_seconds(each.left);
  }
  const double share = needed / static_cast<double>(cut.chunks.size());
  for (PlacedChunk& each : cut.chunks) {
    const double left = counted > 0 ? to_seconds(each.left) * (needed / counted) : share;
    each.left = from_seconds_up(left);
  }
  // A chunk that is done is dropped, but while the job is not done somebody must go on with it.
  const bool is_done = std::ranges::all_of(
      cut.chunks, [](const PlacedChunk& each) { return each.left <= Duration{}; });
  if (!is_done) {
    std::erase_if(cut.chunks, [](const PlacedChunk& each) { return each.left <= Duration{}; });
  }
}

void PreemptiveEdge::keep_up(const View& view) {
  const Duration span = kept_up_ == kNever ? Duration{} : view.now - kept_up_;
  kept_up_ = view.now;
  for (auto& [id, cut] : jobs_) {
    const JobState* job = view.jobs.find(id);
    const bool runs = std::ranges::any_of(cut.chunks, &PlacedChunk::runs);
    if (job == nullptr || !runs || span == Duration{}) {
      continue;
    }
    for (PlacedChunk& each : cut.chunks) {
      each.left -= each.runs ? std::min(span, each.left) : Duration{};
    }
    correct(cut, *job, view);
  }
}

// Faults and quotas stop jobs without asking; true if one was.
bool PreemptiveEdge::notice_stops(const View& view) {
  bool stopped = false;
  for (auto& [id, cut] : jobs_) {
    const JobState* job = view.jobs.find(id);
    if (job != nullptr && job->share == 0) {
      for (PlacedChunk& each : cut.chunks) {
        stopped = stopped || each.runs;
        each.runs = false;
      }
    }
  }
  return stopped;
}

// Gives a job its workers, as many as it can use of those that are not taken; returns how many.
int PreemptiveEdge::take_workers(CutJob& cut, const ScalingCurve& curve, int most, Taken& taken) {
  std::vector<PlacedChunk*> next;
  for (const bool runs : {true, false}) {
    for (PlacedChunk& each : cut.chunks) {
      const auto worker = static_cast<std::size_t>(each.worker);
      // Two chunks of a job on one worker: the second waits.
      if (each.runs == runs && !taken[worker]) {
        taken[worker] = true;
        next.push_back(&each);
      }
    }
  }
  const int share = curve.best_within(std::min(static_cast<int>(next.size()), most)).workers;
  for (PlacedChunk& each : cut.chunks) {
    each.runs = false;
  }
  for (std::size_t i = 0; i < next.size(); ++i) {
    next[i]->runs = i < static_cast<std::size_t>(share);
    taken[static_cast<std::size_t>(next[i]->worker)] = next[i]->runs;
  }
  return share;
}

// Jobs take their workers in order of density; others find the rest.
Decision PreemptiveEdge::hold_round(const View& view) {
  timer_.held(view.now);
  std::vector<std::pair<JobId, CutJob*>> order;
  for (auto& [id, cut] : jobs_) {
    order.emplace_back(id, &cut);
  }
  std::ranges::sort(order, [](const auto& left, const auto& right) {
    return left.second->whole.goes_before(right.second->whole);
  });
  std::vector<Taken> taken;
  for (const Pool& pool : view.topology.pools()) {
    taken.emplace_back(static_cast<std::size_t>(pool.gpus), false);
  }
  std::vector<int> left(view.capacity.begin(), view.capacity.end());
  Decision decision{.is_round = true};
  for (const auto& [id, cut] : order) {
    const JobState& job = view.jobs.at(id);
    const int most = cut->whole.ready <= view.now ? left[cut->pool.value] : 0;
    const int share = take_workers(*cut, view.curve(job, cut->pool), most, taken[cut->pool.value]);
    left[cut->pool.value] -= share;
    if (share != job.share) {
      decision.targets.push_back(Target{.job = id, .pool = cut->pool, .workers = share});
    }
  }
  decision.wake_at = std::max(next_change(view), timer_.next(view.now, view.slot));
  return decision;
}

// When data arrive, or a chunk is done before the others of its job.
Instant PreemptiveEdge::next_change(const View& view) const {
  Instant next = kNever;
  for (const auto& [id, cut] : jobs_) {
    if (cut.whole.ready > view.now) {
      next = std::min(next, cut.whole.ready);
    }
    const auto [shortest, longest] = std::ranges::minmax(cut.chunks, {}, &PlacedChunk::left);
    if (shortest.left < longest.left) {
      for (const PlacedChunk& each : cut.chunks) {
        next = each.runs ? std::min(next, later(view.now, each.left)) : next;
      }
    }
  }
  return next;
}

Decision PreemptiveEdge::on(const Event& event, const View& view) {
  keep_up(view);
  if (std::holds_alternative<Tick>(event)) {
    return hold_round(view);
  }
  Decision decision;
  bool calls_for_round = true;
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    decision.verdicts.push_back(judge(view.jobs.at(arrival->job.id), view));
    calls_for_round = decision.verdicts.back().kind == VerdictKind::Admit;
  } else if (const auto* completion = std::get_if<Completion>(&event)) {
    jobs_.erase(completion->job);
  } else {
    const bool stopped = notice_stops(view);
    calls_for_round = stopped || std::holds_alternative<NodeChange>(event);
  }
  decision.wake_at =
      std::max(calls_for_round ? view.now : next_change(view), timer_.next(view.now, view.slot));
  return decision;
}

std::string PreemptiveEdge::save() const {
  const auto count = [](Instant at) { return at.time_since_epoch().count(); };
  std::string state;
  append_line(state, "round", {count(timer_.last()), count(kept_up_)});
  for (const auto& [id, cut] : jobs_) {
    append_line(state, "job",
                {static_cast<std::int64_t>(id.value), static_cast<std::int64_t>(cut.pool.value),
                 cut.whole.length.count(), cut.whole.siblings, count(cut.whole.ready)});
    for (const PlacedChunk& each : cut.chunks) {
      append_line(state, "chunk", {each.worker, each.left.count(), each.runs ? 1 : 0});
    }
  }
  return state;
}

Status PreemptiveEdge::load(std::string_view state) {
  const auto lines = read_lines(state);
  if (!lines) {
    return lines.error();
  }
  *this = PreemptiveEdge();
  CutJob* last = nullptr;
  for (const SavedLine& line : *lines) {
    const auto& n = line.numbers;
    if (line.word == "round" && n.size() == 2) {
      timer_.held(Instant{Duration{n[0]}});
      kept_up_ = Instant{Duration{n[1]}};
    } else if (line.word == "job" && n.size() == 5) {
      const JobId id{static_cast<std::uint64_t>(n[0])};
      last = &jobs_[id];
      *last = CutJob{.pool = PoolId{static_cast<std::uint64_t>(n[1])},
                     .whole = {.length = Duration{n[2]},
                               .siblings = static_cast<int>(n[3]),
                               .left = Duration{n[2]},
                               .ready = Instant{Duration{n[4]}},
                               .order = id.value}};
    } else if (line.word == "chunk" && n.size() == 3 && last != nullptr) {
      last->chunks.push_back(
          {.worker = static_cast<int>(n[0]), .left = Duration{n[1]}, .runs = n[2] != 0});
    } else {
      return unexpected(line);
    }
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<Policy>> make_preemptive_edge(const PolicyOptions& options) {
  if (Status status = options.only({}); !status) {
    return status.error();
  }
  return std::unique_ptr<Policy>(std::make_unique<PreemptiveEdge>());
}

PolicyInfo preemptive_edge_policy() {
  return {.name = "preemptive-edge",
          .paper = "Wang et al., JSAC 2022",
          .fidelity = "after the paper: all chunks of a job in one region, no parameter servers",
          .objective = "mean completion time, upload of data included",
          .needs = "requested GPUs, run time, regions",
          .use_when = "data lie at the edge and a far cloud has more GPUs",
          .make = make_preemptive_edge};
}

}  // namespace rubato::policy::reconstructed
