#include "rubato/policy/gandiva/gandiva.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rubato/policy/gandiva/gandiva_jobs.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/rounds/round_timer.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::gandiva {
namespace {

constexpr double kUseWeightMin = 1e-3;

int workers_of(const std::vector<NodeShare>& nodes) {
  int workers = 0;
  for (const NodeShare& share : nodes) {
    workers += share.workers;
  }
  return workers;
}

class Gandiva final : public Policy {
 public:
  explicit Gandiva(GandivaOptions options) : options_(options) {}

  [[nodiscard]] Traits traits() const override {
    return Traits{};  // Jobs start on the GPUs they asked for; they only ever grow beyond.
  }
  [[nodiscard]] Decision on(const Event& event, const View& view) override;
  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) override;

 private:
  [[nodiscard]] Verdict judge(const JobState& job, const View& view);
  void notice_stops(const View& view);
  [[nodiscard]] Decision hold_round(const View& view);
  void count_time(const View& view);
  [[nodiscard]] std::map<JobId, std::vector<NodeShare>> next_turn(const View& view);
  void grow(const View& view, std::vector<int>& left, std::vector<int>& pool_left,
            std::map<JobId, std::vector<NodeShare>>& turn) const;
  [[nodiscard]] Instant next_round(const View& view) const;

  GandivaOptions options_;
  GandivaJobs jobs_;
  rounds::RoundTimer timer_;
  Instant turned_ = kNever;   // When everybody's turn was last decided.
  Instant counted_ = kNever;  // Up to when time on GPUs is counted.
  bool has_left_ = false;     // Somebody did since the last round.
};

Verdict Gandiva::judge(const JobState& job, const View& view) {
  const auto gang = rounds::gang_of(job, view);
  if (!gang) {
    return Verdict{
        .job = job.id(), .kind = VerdictKind::Refuse, .reason = rounds::why_unrunnable(job, view)};
  }
  jobs_.add(job.id(), *gang, view);
  return Verdict{.job = job.id()};
}

// Faults and quotas stop jobs without asking.
void Gandiva::notice_stops(const View& view) {
  for (auto& [id, entry] : jobs_.all()) {
    const JobState* job = view.jobs.find(id);
    if (!entry.runs_on.empty() && job != nullptr && job->share == 0) {
      entry.runs_on.clear();
    }
  }
}

void Gandiva::count_time(const View& view) {
  const Duration span = counted_ == kNever ? Duration{} : view.now - counted_;
  counted_ = view.now;
  for (auto& [id, entry] : jobs_.all()) {
    if (!entry.runs_on.empty()) {
      const double weight = std::max(kUseWeightMin, view.jobs.at(id).job.weight);
      entry.had += Duration{static_cast<std::int64_t>(static_cast<double>(span.count()) / weight)};
    }
  }
}

// Who runs from now on, and where. Inside a turn nobody who runs is stopped for another.
std::map<JobId, std::vector<NodeShare>> Gandiva::next_turn(const View& view) {
  const bool is_over = turned_ == kNever || view.now >= later(turned_, options_.turn);
  turned_ = is_over ? view.now : turned_;
  std::vector<std::tuple<bool, Duration, JobId>> order;
  for (const auto& [id, entry] : jobs_.all()) {
    if (!entry.nodes.empty()) {
      order.emplace_back(is_over || entry.runs_on.empty(), entry.had, id);
    }
  }
  std::ranges::sort(order);
  std::vector<int> left;
  for (const Node& node : view.topology.nodes()) {
    left.push_back(jobs_.is_up(node) ? node.gpus : 0);
  }
  std::vector<int> pool_left(view.capacity.begin(), view.capacity.end());
  std::map<JobId, std::vector<NodeShare>> turn;
  for (const auto& [waits, had, id] : order) {
    const AssignedJob& entry = jobs_.all().at(id);
    int& pool = pool_left[entry.gang.pool.value];
    const bool fits =
        entry.gang.workers <= pool && std::ranges::all_of(entry.nodes, [&](const NodeShare& share) {
          return share.workers <= left[share.node.value];
        });
    if (!fits) {
      continue;
    }
    pool -= entry.gang.workers;
    for (const NodeShare& share : entry.nodes) {
      left[share.node.value] -= share.workers;
    }
    turn[id] = entry.nodes;
  }
  grow(view, left, pool_left, turn);
  return turn;
}

// Jobs that said how many workers they accept get the GPUs of their node that have long been idle.
void Gandiva::grow(const View& view, std::vector<int>& left, std::vector<int>& pool_left,
                   std::map<JobId, std::vector<NodeShare>>& turn) const {
  for (auto& [id, nodes] : turn) {
    const AssignedJob& entry = jobs_.all().at(id);
    const JobState& job = view.jobs.at(id);
    const bool opted_in = options_.grow && job.job.workers != WorkerCounts{};
    if (!opted_in || nodes.size() != 1 ||
        view.now < later(jobs_.changed(nodes.front().node), options_.grow_delay)) {
      continue;
    }
    int& here = left[nodes.front().node.value];
    int& pool = pool_left[entry.gang.pool.value];
    const ScalingPoint best =
        view.curve(job, entry.gang.pool).best_within(entry.gang.workers + std::min(here, pool));
    if (best.workers > entry.gang.workers) {
      here -= best.workers - entry.gang.workers;
      pool -= best.workers - entry.gang.workers;
      nodes.front().workers = best.workers;
    }
  }
}

Instant Gandiva::next_round(const View& view) const {
  Instant next = kNever;
  for (const auto& [id, entry] : jobs_.all()) {
    if (entry.nodes.empty()) {
      const Instant tired = later(entry.queued, options_.patience);
      next = tired > view.now ? std::min(next, tired) : next;
    } else if (entry.runs_on.empty() &&
               entry.gang.workers <= view.capacity[entry.gang.pool.value]) {
      next = std::min(next, later(turned_, options_.turn));
    } else if (options_.grow && entry.nodes.size() == 1 &&
               view.jobs.at(id).job.workers != WorkerCounts{}) {
      const Instant ripe = later(jobs_.changed(entry.nodes.front().node), options_.grow_delay);
      next = ripe > view.now ? std::min(next, ripe) : next;
    }
  }
  return next == kNever ? kNever : std::max(next, timer_.next(view.now, view.slot));
}

Decision Gandiva::hold_round(const View& view) {
  timer_.held(view.now);
  count_time(view);
  jobs_.serve_queue(options_.patience, view);
  if (std::exchange(has_left_, false)) {
    jobs_.tidy(view);
    jobs_.serve_queue(options_.patience, view);
  }
  Decision decision{.is_round = true};
  auto turn = next_turn(view);
  for (auto& [id, entry] : jobs_.all()) {
    const auto found = turn.find(id);
    std::vector<NodeShare> nodes = found == turn.end() ? std::vector<NodeShare>{} : found->second;
    if (nodes != entry.runs_on) {
      decision.targets.push_back(
          Target{.job = id, .pool = entry.gang.pool, .workers = workers_of(nodes), .nodes = nodes});
      entry.runs_on = std::move(nodes);
    }
  }
  decision.wake_at = next_round(view);
  return decision;
}

Decision Gandiva::on(const Event& event, const View& view) {
  jobs_.begin(view);
  if (std::holds_alternative<Tick>(event)) {
    return hold_round(view);
  }
  Decision decision;
  bool calls_for_round = true;
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    decision.verdicts.push_back(judge(view.jobs.at(arrival->job.id), view));
    calls_for_round = decision.verdicts.back().kind == VerdictKind::Admit;
  } else if (const auto* completion = std::get_if<Completion>(&event)) {
    if (jobs_.all().contains(completion->job)) {
      jobs_.remove(completion->job, view);
      has_left_ = true;
    }
  } else if (const auto* change = std::get_if<NodeChange>(&event)) {
    jobs_.change_node(*change, view);
    notice_stops(view);
    has_left_ = true;
  } else if (std::holds_alternative<ProgressReport>(event)) {
    notice_stops(view);
    calls_for_round = std::ranges::any_of(jobs_.all(), [](const auto& each) {
      return !each.second.nodes.empty() && each.second.runs_on.empty();
    });
  }
  decision.wake_at = calls_for_round ? timer_.next(view.now, view.slot) : next_round(view);
  return decision;
}

std::string Gandiva::save() const {
  const auto count = [](Instant at) { return at.time_since_epoch().count(); };
  std::string state;
  append_line(state, "round",
              {count(timer_.last()), count(turned_), count(counted_), has_left_ ? 1 : 0});
  jobs_.save(state);
  return state;
}

Status Gandiva::load(std::string_view state) {
  const auto lines = read_lines(state);
  if (!lines) {
    return lines.error();
  }
  *this = Gandiva(options_);
  for (const SavedLine& line : *lines) {
    const auto moment = [&](std::size_t i) { return Instant{Duration{line.numbers[i]}}; };
    if (line.word == "round" && line.numbers.size() == 4) {
      timer_.held(moment(0));
      turned_ = moment(1);
      counted_ = moment(2);
      has_left_ = line.numbers[3] != 0;
    } else if (!jobs_.load(line)) {
      return unexpected(line);
    }
  }
  return ok_status();
}

}  // namespace

std::unique_ptr<Policy> make_gandiva(GandivaOptions options) {
  return std::make_unique<Gandiva>(options);
}

Result<std::unique_ptr<Policy>> make_gandiva(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 4> kKeys = {"turn", "patience", "grow_delay",
                                                            "grow"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  const GandivaOptions defaults;
  const auto turn = options.number("turn", to_seconds(defaults.turn), 1, 1e6);
  const auto patience = options.number("patience", to_seconds(defaults.patience), 0, 1e9);
  const auto delay = options.number("grow_delay", to_seconds(defaults.grow_delay), 0, 1e9);
  const auto grow = options.flag("grow", defaults.grow);
  for (const auto* number : {&turn, &patience, &delay}) {
    if (!*number) {
      return number->error();
    }
  }
  if (!grow) {
    return grow.error();
  }
  return make_gandiva(GandivaOptions{.turn = from_seconds(*turn),
                                     .patience = from_seconds(*patience),
                                     .grow_delay = from_seconds(*delay),
                                     .grow = *grow});
}

PolicyInfo gandiva_policy() {
  return {.name = "gandiva",
          .paper = "Xiao et al., OSDI 2018",
          .fidelity = "after Gandiva: affinity, turns, migration, grow-shrink; no packing",
          .objective = "early feedback and few idle GPUs",
          .needs = "requested GPUs",
          .use_when = "many jobs are tried out at once and none should wait long",
          .options = "turn=60,patience=600,grow_delay=300 (s),grow=true",
          .make = make_gandiva};
}

}  // namespace rubato::policy::gandiva
