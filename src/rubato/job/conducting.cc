#include "rubato/job/conducting.h"

#include <algorithm>

#include <fmt/core.h>

#include "rubato/wire/log_line.h"

namespace rubato {
namespace {

// How long a job keeps its processes, and their memory, without a slot; then its snapshot must do.
constexpr Duration kParkedMax = std::chrono::minutes(10);

Duration report_period(const wire::ConductOrder& order) {
  return order.report_us() > 0 ? Duration(order.report_us()) : std::chrono::seconds(1);
}

// Whether people would want to know at once.
bool differs(const wire::JobReport& now, const wire::JobReport& before) {
  return now.generation() != before.generation() || now.workers() != before.workers() ||
         now.order() != before.order() || now.is_measured() != before.is_measured();
}

std::string outcome_word(JobOutcome outcome, bool is_stopped) {
  switch (outcome) {
    case JobOutcome::Finished:
      return "finished";
    case JobOutcome::Requeue:
      return "requeue";
    case JobOutcome::Refused:
      return "refused";
    case JobOutcome::Suspended:
      return "suspended";
    case JobOutcome::Failed:
    case JobOutcome::Running:
      break;
  }
  return is_stopped ? "cancelled" : "failed";
}

}  // namespace

Conducting::Conducting(wire::ConductOrder order, std::unique_ptr<ConductedJob> job,
                       ConductLine& line, launch::metrics::JobMetrics& metrics)
    : order_(std::move(order)),
      job_(std::move(job)),
      line_(line),
      metrics_(metrics),
      last_seen_(order_.run().order()),
      obeyed_(last_seen_) {}

bool Conducting::turn() {
  const std::vector<int> descriptors = line_.descriptors();
  const bool goes_on = job_->turn(
      std::min<Duration>(report_period(order_), std::chrono::milliseconds(200)), descriptors);
  for (const wire::ToConduct& message : line_.receive()) {
    take(message);
  }
  if (is_parked_ && Clock::now() > parked_until_) {
    suspend("suspended");
  }
  tell();
  if (!goes_on) {
    tell_metrics();
  }
  return goes_on;
}

void Conducting::take(const wire::ToConduct& message) {
  const std::uint64_t number =
      message.has_run() ? message.run().run().order() : message.stop().order();
  if (number <= last_seen_) {
    return;
  }
  last_seen_ = number;
  if (message.has_stop()) {
    is_stopped_ = true;
    stop_reason_ = message.stop().reason();
    log_line(stdout, "order {}: stop: {}", number, stop_reason_);
    job_->stop(stop_reason_);
  } else if (message.has_run()) {
    obey(message.run());
  }
}

void Conducting::obey(const wire::ConductOrder& order) {
  if (!until_note_.empty()) {
    return;  // It is about to end for good, and gives back all it has.
  }
  order_ = order;
  const int slots = order.run().slots_size();
  log_line(stdout, "order {}: {} workers", order.run().order(), slots);
  is_suspending_ = slots == 0;
  is_parked_ = false;
  if (is_suspending_) {
    give_back();
  } else {
    job_->obey(order);
  }
}

// All slots: either the processes stay, and cost nothing but memory, or they go.
void Conducting::give_back() {
  suspended_by_ = last_seen_;
  is_parked_ = job_->park();
  if (is_parked_) {
    parked_until_ = Clock::now() + kParkedMax;
  } else {
    job_->suspend("suspended");
  }
}

void Conducting::suspend(const std::string& reason) {
  if ((!is_suspending_ || is_parked_) && until_note_.empty()) {
    is_suspending_ = true;
    is_parked_ = false;
    suspended_by_ = last_seen_;
    job_->suspend(reason);
  }
}

// What the agent must hear now. One that is new hears all again.
void Conducting::tell() {
  const auto moment = Clock::now();
  const bool is_new = line_.take_is_new();
  const bool goes_on = !is_suspending_ || is_parked_;
  if (goes_on && job_->has_obeyed()) {
    obeyed_ = order_.run().order();
  }
  if (goes_on && job_->holds_no_more() && (is_new || told_held_ != order_.run().order())) {
    told_held_ = order_.run().order();
    wire::FromAgent message;
    message.mutable_held()->set_job(order_.run().job());
    message.mutable_held()->set_order(told_held_);
    *message.mutable_held()->mutable_slots() = order_.run().slots();
    line_.say(message);
  }
  wire::JobReport now;
  job_->describe(now);
  now.set_order(obeyed_);
  watch_metrics(now.done());
  if (is_new || differs(now, last_report_) || moment - reported_ >= report_period(order_)) {
    report(moment);
  }
}

void Conducting::report(Clock::time_point moment) {
  wire::FromAgent message;
  wire::JobReport& body = *message.mutable_report();
  job_->describe(body);
  body.set_job(order_.run().job());
  body.set_order(obeyed_);
  reported_ = moment;
  last_report_ = body;
  line_.say(message);
  tell_metrics();
}

// The metrics may say that the job has done enough.
void Conducting::watch_metrics(double done) {
  metrics_.set_step(static_cast<std::int64_t>(done));
  if (const std::string warning = metrics_.take_warning(); !warning.empty()) {
    log_line(stdout, "{}", warning);
  }
  if (is_stopped_ || is_suspending_ || !until_note_.empty()) {
    return;
  }
  if (const auto note = metrics_.take_end(order_.run().spec().steps())) {
    until_note_ = *note;
    log_line(stdout, "{}", until_note_);
    job_->end_early(until_note_);
  }
}

// All that is new: to the file beside the log, and to the agent if one is there. One that comes
// later reads the file.
void Conducting::tell_metrics() {
  metrics_.save();
  wire::FromAgent message;
  message.mutable_metrics()->set_job(order_.run().job());
  while (line_.has_agent() && metrics_.take_news(*message.mutable_metrics())) {
    line_.say(message);
    message.mutable_metrics()->clear_points();
  }
}

wire::JobEnded Conducting::ended() const {
  const JobTimeline& timeline = job_->timeline();
  wire::JobReport last;
  job_->describe(last);
  wire::JobEnded ended;
  ended.set_job(order_.run().job());
  // A newer order to go on may have come too late; the agent sees by the number that it did.
  const bool has_left =
      timeline.outcome == JobOutcome::Suspended || timeline.outcome == JobOutcome::Finished;
  const bool is_by_until = has_left && !until_note_.empty() && !is_stopped_;
  const bool is_suspended = timeline.outcome == JobOutcome::Suspended && !is_by_until;
  ended.set_order(is_suspended ? suspended_by_ : last_seen_);
  ended.set_outcome(is_by_until ? "finished" : outcome_word(timeline.outcome, is_stopped_));
  ended.set_by_until(is_by_until);
  ended.set_exit_code(timeline.exit_code);
  const bool has_failed = ended.outcome() == "failed" || ended.outcome() == "refused";
  ended.set_cause(has_failed ? std::string(exit_word(timeline.cause)) : ended.outcome());
  ended.set_detail(is_by_until ? until_note_ : is_stopped_ ? stop_reason_ : timeline.reason);
  ended.set_done(last.done());
  if (timeline.parameter_hash != 0) {
    ended.set_parameter_hash(fmt::format("{:016x}", timeline.parameter_hash));
  }
  return ended;
}

}  // namespace rubato
