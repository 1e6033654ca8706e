// Between the live jobs and the engine: events in, commands out.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/engine/questions/forecast.h"
#include "rubato/engine/record/journal.h"
#include "rubato/live/controller/controller.h"
#include "rubato/policy/registry.h"
#include "rubato/spec/job_values.h"

namespace rubato {
namespace {

constexpr double kAssumedScaling = 0.9;  // Of a job whose speed nobody has measured.
// What forecasts of new jobs may cost within a second of scheduler time.
constexpr Duration kOutlookSpan = std::chrono::seconds(1);
constexpr long kOutlookVisits = 2 * kForecastVisitsMax;

// Counts of workers are all that such a curve is good for: its speeds have no meaning.
std::vector<ScalingPoint> assumed_speeds(int slots) {
  std::vector<ScalingPoint> points;
  for (int workers = 1; workers <= slots; workers *= 2) {
    points.push_back({.workers = workers, .speed = std::pow(workers, kAssumedScaling)});
  }
  return points;
}

// The policy as the engine is to make it: plans end a margin before the deadline, and a job that
// has fallen behind may use most of that up; the end of it is for the time that word of its end
// takes.
std::string with_grace(const std::string& policy, const ControllerOptions& options) {
  constexpr double kUsable = 0.9;
  const std::size_t colon = policy.find(':');
  if (policy.substr(0, colon) != "elasticflow" || policy.find("grace") != std::string::npos) {
    return policy;
  }
  return fmt::format("{}{}grace={},grace_min={}", policy, colon == std::string::npos ? ":" : ",",
                     kUsable * options.margin / (1 - options.margin),
                     kUsable * to_seconds(options.margin_min));
}

bool keeps_quotes(const std::string& policy) {
  const auto made = make_policy(policy);
  return made && (*made)->traits().keeps_quotes;
}

}  // namespace

// A policy that came later, or as a shadow, need not keep quotes.
Result<Engine> Controller::make_engine(const std::string& policy, std::size_t nodes) const {
  const Topology machines = topology_of(std::span(nodes_).first(nodes));
  return Engine::make(machines, SpeedBook({}, machines), with_grace(policy, options_),
                      EngineOptions{.accounting = ResizeCostModel::Physical,
                                    .slot = options_.slot,
                                    .restart = options_.resize_pause,
                                    .firm_quotes = policy == options_.policy || keeps_quotes(policy)
                                                       ? options_.firm_quotes
                                                       : 0,
                                    .seed = options_.seed,
                                    .guarantees = guarantees(machines)});
}

void Controller::feed(const Event& event) { carry_out_all(engine_->on(now_, event)); }

void Controller::carry_out_all(const Commands& commands) {
  for (const Command& command : commands) {
    effects_.commands += command_line(command);
    std::visit([this](const auto& each) { carry_out(each); }, command);
  }
  while (!offers_.empty()) {
    const Verdict offer = offers_.front();
    offers_.pop_front();
    feed(OfferReply{.job = offer.job, .accepted = true});
  }
}

Instant Controller::planned_deadline(Instant deadline) const {
  if (deadline == kNever || deadline <= now_) {
    return deadline;
  }
  const Duration margin =
      std::max(options_.margin_min, from_seconds(to_seconds(deadline - now_) * options_.margin));
  return deadline - margin;
}

Instant Controller::promised_for(Instant planned) const {
  const double span = to_seconds(planned - now_);
  return later(planned, std::max(options_.margin_min,
                                 from_seconds_up(span * options_.margin / (1 - options_.margin))));
}

Job Controller::engine_job(const LiveJob& job, JobId id) const {
  Job made{.id = id, .name = job.spec.name(), .tenant = job.spec.tenant()};
  made.arrival = now_;
  made.job_class = job.job_class;
  made.work = std::max(job.spec.steps() - job.done, 1e-6);
  made.model = job.spec.model();
  made.batch = job.spec.batch();
  made.workers = worker_counts(job.spec.workers());
  made.gpu_type = job.spec.gpu_type();
  made.weight = job.spec.weight() > 0 ? job.spec.weight() : 1;
  if (job.speeds.empty()) {
    made.job_class = JobClass::BestEffort;
    made.speeds = assumed_speeds(topology_.gpus());
  } else {
    made.deadline = planned_deadline(job.deadline);
    double peak = 0;
    for (const wire::SpeedPoint& point : job.speeds) {
      made.speeds.push_back({.workers = point.workers(), .speed = point.steps_per_second()});
      peak = std::max(peak, point.steps_per_second());
    }
    // What may be lacking when we believe that all is done has its place in the plan.
    made.padding = job.deadline == kNever ? 0 : unseen_steps(peak);
    made.work += made.padding;
  }
  return made;
}

void Controller::arrive(LiveJob& job) {
  job.engine_id = JobId{next_engine_id_++};
  job.base = job.done;
  names_[job.engine_id] = job.id;
  feed(Arrival{.job = engine_job(job, job.engine_id)});
  if (const JobState* state = engine_->state().jobs.find(job.engine_id);
      state != nullptr && job.promise.quoted_finish == kNever &&
      job.state != LiveState::Profiling) {
    job.promise.quoted_finish =
        state->plan.empty() ? state->progress.finish(state->job.work) : state->plan.finish();
    if (job.has_promise()) {
      quote_finish(job);
    }
  }
}

// The plan says when a job must end, a forecast when it will. Many jobs at once are not held up by
// their forecasts: beyond a bound they have only the plan.
void Controller::quote_finish(LiveJob& job) {
  if (now_ - outlook_from_ >= kOutlookSpan) {
    outlook_from_ = now_;
    forecast_budget_ = 0;
  }
  const long left = std::min(kOutlookVisits - forecast_budget_, kForecastVisitsMax);
  const Forecast outlook = forecast(*engine_, job.engine_id, left);
  forecast_budget_ += outlook.visits;
  if (outlook.is_known()) {
    job.promise.quoted_finish = outlook.finish;
    job.promise.is_simulated = true;
  }
}

void Controller::leave_engine(LiveJob& job, Outcome outcome) {
  const JobId old = job.engine_id;
  names_.erase(old);
  slots_.want(job.id, {});
  job.share = 0;
  feed(Completion{.job = old, .outcome = outcome});
}

LiveJob* Controller::by_engine_id(JobId id) {
  const auto name = names_.find(id);
  return name == names_.end() ? nullptr : &jobs_.at(name->second);
}

void Controller::carry_out(const Answer& answer) {
  LiveJob* job = by_engine_id(answer.verdict.job);
  if (job == nullptr) {
    return;
  }
  job->reason = answer.verdict.reason;
  switch (answer.verdict.kind) {
    case VerdictKind::Admit:
      if (answer.verdict.promised != kNever && !job->has_promise()) {
        job->promise.promised = job->deadline;
        job->promise.quoted_finish = answer.verdict.quoted;
        job->promise.is_simulated = answer.verdict.quoted != kNever;
        tell("job.admitted", *job,
             fmt::format("job {} is promised by its deadline", job->id.value));
      }
      break;
    case VerdictKind::Refuse:
      names_.erase(job->engine_id);
      refused_.push_back(job->id);
      break;
    case VerdictKind::Offer:
      offers_.push_back(answer.verdict);
      break;
    case VerdictKind::Demote:
      job->job_class = JobClass::BestEffort;
      tell("job.demoted", *job, std::string(sentence(answer.verdict.reason)));
      break;
    case VerdictKind::Defer:
      break;
  }
}

// Jobs that the engine just refused. One that was promised before stays, as well as it goes: its
// terms changed, not our word.
void Controller::settle_refusals() {
  for (std::size_t i = 0; i < refused_.size(); ++i) {
    LiveJob& job = jobs_.at(refused_[i]);
    if (job.has_promise() && job.job_class == JobClass::Slo) {
      job.job_class = JobClass::Soft;
      arrive(job);
      continue;
    }
    send_stop(job, std::string(sentence(job.reason)));
    slots_.want(job.id, {});
    finish(job, LiveState::Rejected, "job.refused", std::string(sentence(job.reason)));
  }
  refused_.clear();
}

void Controller::carry_out(const Run& run) {
  if (LiveJob* job = by_engine_id(run.job)) {
    slots_.want(job->id, topology_.nodes_of(run.placement));
    job->decided = now_;
    set_share(*job, run.placement.gpus());
  }
}

void Controller::carry_out(const Suspend& suspend) {
  if (LiveJob* job = by_engine_id(suspend.job)) {
    slots_.want(job->id, {});
    set_share(*job, 0);
  }
}

// What is done then is done because of what happens now.
void Controller::carry_out(const Wake& wake) {
  wake_ = wake.at;
  wake_cause_ = cause_;
}

void Controller::carry_out(const Alarm& alarm) { tell("alarm", alarm.fault); }

void Controller::set_share(LiveJob& job, int share) {
  if (job.share == share) {
    return;
  }
  if (job.resizes.size() == LiveJob::kResizesKept) {
    job.resizes.erase(job.resizes.begin());
  }
  job.resizes.push_back({.at = now_,
                         .before = job.share,
                         .after = share,
                         .cause = cause_.text,
                         .caused_by = cause_.by});
  job.share = share;
}

void Controller::refresh_nodes() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    NodeRecord& record = nodes_[i];
    std::erase_if(record.maintenance, [&](const ClosedTime& each) { return each.to <= now_; });
    const bool is_usable = record.is_usable(now_);
    if (is_usable != record.is_up) {
      record.is_up = is_usable;
      tell(is_usable ? "node.up" : "node.down",
           fmt::format("node {} {}", record.node.name, is_usable ? "is up" : "is down"))
          .set_node(record.node.name);
      const NodeChange change{.node = NodeId{i}, .up = is_usable};
      feed(change);
      if (shadow_) {
        shadow_->change_node(now_, change);
      }
    }
  }
}

// What was measured becomes known of the job's kind; a job that was only measured so far now gets
// its answer.
void Controller::learn(LiveJob& job, const wire::JobReport& report) {
  if (report.is_measured() && !job.spec.model().empty() && report.measured_size() > 0) {
    auto& known = speeds_[{job.spec.model(), job.spec.batch()}];
    known.assign(report.measured().begin(), report.measured().end());
  }
  if (job.state != LiveState::Profiling || !report.is_measured() || report.measured_size() == 0) {
    return;
  }
  job.speeds.assign(report.measured().begin(), report.measured().end());
  job.state = LiveState::Running;
  cause_ = {.text = fmt::format("the speed of job {} is known now", job.id.value)};
  leave_engine(job, Outcome::Cancelled);
  arrive(job);
  tell_shadow(job);
}

// Says once that a promise is in danger, and once that it is not any more.
void Controller::check_promise(LiveJob& job) {
  const JobState* state = engine_->state().jobs.find(job.engine_id);
  if (!job.has_promise() || state == nullptr) {
    return;
  }
  const Instant finish = expected_finish(job);
  const bool is_at_risk = finish > job.promise.promised;
  if (is_at_risk == job.promise.is_at_risk) {
    return;
  }
  job.promise.is_at_risk = is_at_risk;
  if (!is_at_risk) {
    tell("job.safe", job, fmt::format("job {} is on time again", job.id.value));
    return;
  }
  wire::EventRecord& event =
      tell("job.at_risk", job,
           finish == kNever
               ? fmt::format("job {} has no workers planned until its promise", job.id.value)
               : fmt::format("job {} would end {:.0f} s after its promise", job.id.value,
                             to_seconds(finish - job.promise.promised)));
  event.add_remedies("add nodes, or give back drained ones");
  event.add_remedies("cancel or scale down best-effort jobs beside it");
  event.add_remedies(
      fmt::format("allow it more workers: rubato scale {} --workers MIN-MAX", job.id.value));
}

}  // namespace rubato
