#include "rubato/sim/simulator.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/sim/event_queue.h"
#include "rubato/sim/recorder.h"
#include "rubato/sim/virtual_training.h"

namespace rubato {
namespace {

using WallClock = std::chrono::steady_clock;

constexpr std::size_t kProgressEvery = 1'000;  // Events between two calls of on_progress.
// Faults are drawn until this long after the last arrival; jobs that run on meet no more of them.
constexpr Duration kFaultTail = std::chrono::hours{24 * 30};

double seconds_since(WallClock::time_point start) {
  return std::chrono::duration<double>(WallClock::now() - start).count();
}

/// One run; its members are the world outside the engine.
class Simulation {
 public:
  Simulation(const std::vector<Job>& jobs, const Topology& topology, const SimOptions& options,
             Engine engine, const SimWatcher& watcher)
      : jobs_(jobs),
        topology_(topology),
        options_(options),
        watcher_(watcher),
        engine_(std::move(engine)),
        training_(topology, jobs.size(), options.faults.noise, options.faults.straggler_speed,
                  Random(options.seed).fork(1)),
        recorder_(jobs, topology, options.keep_bars),
        versions_(jobs.size(), 0),
        reports_(options.faults.any()),
        delays_(Random(options.seed).fork(3)) {
    if (options.grid) {
      training_.count_whole_seconds();
    }
    if (!jobs.empty()) {
      const Instant last = later(jobs.back().arrival, kFaultTail);
      faults_ = draw_faults(options.faults, topology, jobs.front().arrival, last,
                            Random(options.seed).fork(2));
    }
  }

  Result<SimResult> run() {
    const auto start = WallClock::now();
    while (step()) {
      if (!fault_.empty()) {
        return Error{.code = ErrorCode::BadConfig,
                     .message = fmt::format("policy {} at {} s: {}", options_.policy,
                                            to_seconds(now_), fault_)};
      }
      if (options_.limit_seconds > 0 && seconds_since(start) > options_.limit_seconds) {
        return Error{.code = ErrorCode::BadConfig,
                     .message = fmt::format("policy {} was stopped after {} s with {} of {} jobs "
                                            "behind it",
                                            options_.policy, options_.limit_seconds, jobs_done_,
                                            jobs_.size())};
      }
      if (watcher_.on_progress && ++events_ % kProgressEvery == 0) {
        watcher_.on_progress(jobs_done_, jobs_.size());
      }
    }
    if (watcher_.on_progress) {
      watcher_.on_progress(jobs_done_, jobs_.size());
    }
    return finish(seconds_since(start));
  }

 private:
  // The next thing that is due; false when nothing is, or nothing that could still matter.
  bool step() {
    drop_stale();
    Due next{.at = kNever};
    if (!queue_.empty()) {
      next = queue_.top();
    }
    if (next_arrival_ < jobs_.size()) {
      next = std::min(
          next,
          Due{.at = jobs_[next_arrival_].arrival, .kind = DueKind::Arrival, .id = next_arrival_});
    }
    if (next_fault_ < faults_.size() && jobs_done_ < jobs_.size()) {
      next = std::min(
          next, Due{.at = faults_[next_fault_].at, .kind = DueKind::Fault, .id = next_fault_});
    }
    if (wake_ != kNever) {
      next = std::min(next, Due{.at = std::max(wake_, now_), .kind = DueKind::Tick});
    }
    if (next.at == kNever || jobs_done_ == jobs_.size()) {
      return false;
    }
    now_ = std::max(now_, next.at);
    handle(next);
    return true;
  }

  void drop_stale() {
    while (!queue_.empty() && (queue_.top().version != versions_[queue_.top().id])) {
      queue_.pop();
    }
  }

  void handle(const Due& due) {
    switch (due.kind) {
      case DueKind::Completion:
        queue_.pop();
        complete(JobId{due.id});
        break;
      case DueKind::Epoch:
        queue_.pop();
        training_.end_epoch(now_, JobId{due.id}, engine_.state().speeds);
        reschedule(JobId{due.id});
        if (adapts(JobId{due.id})) {
          tell(JobId{due.id}, training_.of(JobId{due.id}).share);
        }
        break;
      case DueKind::Fault:
        ++next_fault_;
        strike(faults_[due.id]);
        break;
      case DueKind::Report:
        queue_.pop();
        report(JobId{due.id}, training_.of(JobId{due.id}).share);
        break;
      case DueKind::Arrival: {
        const Job& job = jobs_[next_arrival_++];
        feed(Arrival{.job = job});
        break;
      }
      case DueKind::Tick:
        wake_ = kNever;
        feed(Tick{});
        break;
    }
    while (!offers_.empty()) {
      const Verdict offer = offers_.front();
      offers_.pop_front();
      feed(OfferReply{.job = offer.job, .accepted = is_worth_it(offer)});
    }
    recorder_.end_of_event(now_);
  }

  // Owners are rational: they pay up to what the job is worth to them when it is to be done.
  [[nodiscard]] bool is_worth_it(const Verdict& offer) const {
    const Job& job = jobs_[offer.job.value];
    const Duration latency = offer.promised == kNever ? Duration{} : offer.promised - job.arrival;
    return offer.payment <= job.value.at(latency);
  }

  void complete(JobId id) {
    ++versions_[id.value];
    ++jobs_done_;
    last_finish_ = now_;
    recorder_.complete(now_, jobs_[id.value]);
    if (training_.of(id).share > 0) {
      training_.suspend(now_, id);
    }
    feed(Completion{.job = id});
  }

  void strike(const Fault& fault) {
    switch (fault.kind) {
      case FaultKind::NodeDown:
      case FaultKind::NodeUp: {
        const bool up = fault.kind == FaultKind::NodeUp;
        gpus_down_ += (up ? -1 : 1) * topology_.node(fault.node).gpus;
        recorder_.nodes(now_, topology_.gpus() - gpus_down_);
        feed(NodeChange{.node = fault.node, .up = up});
        break;
      }
      case FaultKind::WorkerLost: {
        const auto hit = training_.on_node(fault.node);
        if (!hit.empty()) {
          report(hit.front(), training_.of(hit.front()).share - 1);
        }
        break;
      }
      case FaultKind::SlowBegins:
      case FaultKind::SlowEnds:
        for (const JobId id : training_.set_slow(
                 now_, fault.node, fault.kind == FaultKind::SlowBegins, engine_.state().speeds)) {
          reschedule(id);
        }
        break;
    }
  }

  // A running job reports now, and will again.
  void report(JobId id, int workers) {
    if (training_.of(id).share > 0) {
      expect_report(id);
      tell(id, workers);
    }
  }

  // What a running job tells the engine about itself.
  void tell(JobId id, int workers) {
    const Training& training = training_.of(id);
    feed(ProgressReport{
        .job = id,
        .done = training.progress.at(now_),
        .speed = now_ >= training.progress.paused_until ? training.progress.speed : 0,
        .workers = workers,
        .step = training_.observe(id, engine_.state().speeds)});
  }

  // A job whose batch adapts tells after each epoch, and every slot, how its steps go.
  [[nodiscard]] bool adapts(JobId id) const { return !training_.of(id).split.is_own(); }

  void expect_report(JobId id) {
    const double delay =
        options_.faults.report_delay > 0 ? delays_.exponential(options_.faults.report_delay) : 0;
    const Duration every = adapts(id) ? options_.slot : from_seconds(options_.faults.report_every);
    queue_.push(Due{.at = later(now_, every + from_seconds(delay)),
                    .kind = DueKind::Report,
                    .id = id.value,
                    .version = versions_[id.value]});
  }

  // The job's speed changed: what was due is stale, and its finish lies elsewhere.
  void reschedule(JobId id) {
    const std::uint64_t version = ++versions_[id.value];
    const auto next = training_.next(id, engine_.state().speeds);
    if (training_.of(id).share > 0 && next.at != kNever) {
      queue_.push(Due{.at = std::max(next.at, now_),
                      .kind = next.is_end ? DueKind::Completion : DueKind::Epoch,
                      .id = id.value,
                      .version = version});
    }
    if ((reports_ || adapts(id)) && training_.of(id).share > 0) {
      expect_report(id);
    }
  }

  void feed(const Event& event) {
    if (watcher_.on_event) {
      watcher_.on_event(now_, event);
    }
    const auto start = WallClock::now();
    const Commands commands = engine_.on(now_, event);
    decision_seconds_.push_back(static_cast<float>(seconds_since(start)));
    if (const auto* arrival = std::get_if<Arrival>(&event)) {
      meet(arrival->job);
    }
    for (const Command& command : commands) {
      if (watcher_.on_command) {
        watcher_.on_command(now_, command);
      }
      std::visit([this](const auto& each) { carry_out(each); }, command);
    }
    if (options_.audit && fault_.empty()) {
      for (const std::string& fault : engine_.audit()) {
        fault_ = fault;
      }
    }
  }

  // A job that just arrived: the engine has looked up its kind, so we can ask for it.
  void meet(const Job& job) {
    const SpeedBook& speeds = engine_.state().speeds;
    const SpeedId speed = speeds.find(job);
    training_.arrive(job, speed);
    recorder_.arrive(job, speed, speeds, topology_);
  }

  void carry_out(const Answer& answer) {
    recorder_.answer(answer.verdict);
    jobs_done_ += answer.verdict.kind == VerdictKind::Refuse ? 1 : 0;
    if (answer.verdict.kind == VerdictKind::Offer) {
      offers_.push_back(answer.verdict);
    }
  }
  void carry_out(const Run& run) {
    training_.run(now_, run, engine_.state().speeds);
    recorder_.run(now_, run, engine_.state().speeds);
    reschedule(run.job);
  }
  void carry_out(const Rebatch& rebatch) {
    training_.rebatch(now_, rebatch, engine_.state().speeds);
    reschedule(rebatch.job);
  }
  void carry_out(const Suspend& suspend) {
    training_.suspend(now_, suspend.job);
    recorder_.suspend(now_, suspend.job);
    reschedule(suspend.job);
  }
  void carry_out(const Stall& stall) {
    training_.stall(now_, stall);
    reschedule(stall.job);
  }
  void carry_out(const Wake& wake) { wake_ = wake.at; }
  void carry_out(const Alarm& alarm) { fault_ = alarm.fault; }

  SimResult finish(double wall_seconds) {
    SimResult result{.history = recorder_.finish(std::max(last_finish_, now_)),
                     .wall_seconds = wall_seconds};
    result.history.end = std::max(last_finish_, result.history.start);
    result.history.decisions = static_cast<long>(decision_seconds_.size());
    result.history.rounds = engine_.state().rounds;
    if (!decision_seconds_.empty()) {
      std::ranges::sort(decision_seconds_);
      const std::size_t last = decision_seconds_.size() - 1;
      const auto rank = [&](double share) {
        return static_cast<double>(
            decision_seconds_[static_cast<std::size_t>(share * static_cast<double>(last))]);
      };
      result.decision_p50_seconds = rank(0.50);
      result.decision_p99_seconds = rank(0.99);
      result.decision_max_seconds = rank(1.00);
    }
    return result;
  }

  const std::vector<Job>& jobs_;
  const Topology& topology_;
  const SimOptions& options_;
  const SimWatcher& watcher_;
  Engine engine_;
  VirtualTraining training_;
  Recorder recorder_;
  EventQueue queue_;                     // Completions and reports.
  std::vector<std::uint64_t> versions_;  // Per job; entries of older versions are stale.
  std::vector<Fault> faults_;
  std::size_t next_fault_ = 0;
  std::size_t next_arrival_ = 0;
  std::size_t jobs_done_ = 0;  // Jobs that finished or were refused.
  std::size_t events_ = 0;
  Instant now_{};
  Instant last_finish_{};
  Instant wake_ = kNever;
  std::deque<Verdict> offers_;  // Not yet answered by their owners.
  int gpus_down_ = 0;
  bool reports_;
  Random delays_;
  std::string fault_;
  std::vector<float> decision_seconds_;
};

}  // namespace

Result<SimResult> simulate(const std::vector<Job>& jobs, const Topology& topology,
                           const SpeedBook& speeds, const SimOptions& options,
                           const SimWatcher& watcher) {
  auto engine = Engine::make(topology, speeds, options.policy,
                             EngineOptions{.accounting = options.accounting,
                                           .slot = options.slot,
                                           .restart = options.restart,
                                           .grid = options.grid,
                                           .firm_quotes = options.firm_quotes,
                                           .seed = options.seed,
                                           .share_profiles = options.share_profiles,
                                           .tenants = options.tenants,
                                           .placer = options.placer});
  if (!engine) {
    return engine.error();
  }
  return Simulation(jobs, topology, options, *std::move(engine), watcher).run();
}

}  // namespace rubato
