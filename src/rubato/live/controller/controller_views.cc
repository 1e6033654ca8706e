// What people are shown of the controller's state.
#include <algorithm>

#include <fmt/core.h>

#include "rubato/engine/questions/forecast.h"
#include "rubato/live/controller/controller.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

constexpr double kBandByDefault = 0.05;  // Until enough quotes have been checked by time.
constexpr std::size_t kErrorsMin = 10;

constexpr std::size_t kPastSharesMax = 8;

void put(google::protobuf::Timestamp* to, Instant moment) {
  *to = to_timestamp(moment).value_or(google::protobuf::Timestamp{});
}

template <typename Message>
void put_plan(const Plan& plan, Instant now, Message& message) {
  for (const PlanSegment& segment : plan.segments) {
    if (segment.to > now) {
      wire::PlannedShare& share = *message.add_plan();
      put(share.mutable_from(), segment.from);
      put(share.mutable_to(), segment.to);
      share.set_workers(segment.workers);
    }
  }
}

// The newest ones: a list of ten thousand jobs has all of them. What lasted no time is left out.
void put_past(const LiveJob& job, Instant now, wire::JobStatus& status) {
  const auto& all = job.resizes;
  const std::size_t first = all.size() - std::min(all.size(), kPastSharesMax);
  for (std::size_t i = first; i < all.size(); ++i) {
    const Instant to = i + 1 < all.size() ? all[i + 1].at : now;
    if (to > all[i].at) {
      wire::PlannedShare& share = *status.add_past();
      put(share.mutable_from(), all[i].at);
      put(share.mutable_to(), to);
      share.set_workers(all[i].after);
    }
  }
}

std::string state_word(const LiveJob& job) {
  if (job.state == LiveState::Pending && job.has_promise()) {
    return "ADMITTED";
  }
  return std::string(to_string(job.state));
}

}  // namespace

const LiveJob* Controller::find(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

Instant Controller::expected_finish(const LiveJob& job) const {
  const JobState* state = engine_->state().jobs.find(job.engine_id);
  if (state == nullptr || job.state == LiveState::Profiling) {
    return kNever;
  }
  const Instant planned = state->plan.finish();
  const Instant going_on = state->progress.finish(state->job.work);
  return state->plan.empty() ? going_on : std::min(planned, std::max(going_on, now_));
}

wire::JobStatus Controller::status(Instant now, const LiveJob& job) const {
  wire::JobStatus status;
  status.set_id(std::to_string(job.id.value));
  *status.mutable_spec() = job.spec;
  status.set_user(job.user);
  status.set_state(state_word(job));
  status.set_class_(std::string(to_string(job.job_class)));
  if (job.state == LiveState::Pending || job.state == LiveState::Rejected) {
    status.set_reason(std::string(to_string(job.reason)));
  }
  status.set_message(job.message);
  status.set_steps_done(job.done);
  status.set_steps_total(job.spec.steps());
  status.set_workers(job.workers);
  for (const SlotRef& slot : slots_.ordered(job.id)) {
    status.add_slots(fmt::format("{}/{}", nodes_.at(slot.node.value).node.name, slot.index));
  }
  status.set_steps_per_second(job.speed);
  status.set_loss(job.loss);
  if (job.memory) {
    *status.mutable_memory() = *job.memory;
  }
  put(status.mutable_submitted(), job.submitted);
  if (job.promise.quoted_finish != kNever) {
    put(status.mutable_quoted(), job.promise.quoted_finish);
  }
  status.set_resizes(static_cast<int>(job.resizes.size()));
  status.set_restarts(job.restarts);
  status.set_gpu_seconds(job.gpu_seconds);
  status.set_order(job.order);
  status.set_exit_code(job.end.exit_code);
  status.set_exit_cause(job.end.cause);
  status.set_parameter_hash(job.end.parameter_hash);
  const auto put_known = [](google::protobuf::Timestamp* (wire::JobStatus::*field)(),
                            wire::JobStatus& to, Instant moment) {
    if (moment != kNever) {
      put((to.*field)(), moment);
    }
  };
  put_known(&wire::JobStatus::mutable_started, status, job.started);
  put_known(&wire::JobStatus::mutable_finished, status, job.end.at);
  put_known(&wire::JobStatus::mutable_deadline, status, job.deadline);
  put_known(&wire::JobStatus::mutable_promised, status, job.promise.promised);
  status.set_at_risk(job.promise.is_at_risk && !is_over(job.state));
  const Instant finish = is_over(job.state) ? job.end.at : expected_finish(job);
  status.set_missed(job.has_promise() && finish != kNever && finish > job.promise.promised &&
                    (is_over(job.state) || now > job.promise.promised));
  if (!is_over(job.state) && finish != kNever) {
    const Duration spread = from_seconds(to_seconds(std::max(finish, now) - now) * band());
    put(status.mutable_eta(), finish);
    put(status.mutable_eta_early(), finish - spread);
    put(status.mutable_eta_late(), finish + spread);
  }
  if (const JobState* state = engine_->state().jobs.find(job.engine_id)) {
    put_plan(state->plan, now, status);
  }
  if (!is_over(job.state)) {
    put_past(job, now, status);
  }
  return status;
}

wire::QuoteReply Controller::quote(Instant now, const wire::Submitted& submission) {
  now_ = std::max(now_, now);
  LiveJob asked;
  asked.spec = submission.spec();
  asked.deadline =
      submission.deadline_us() == 0 ? kNever : Instant{Duration{submission.deadline_us()}};
  asked.job_class = job_class_of(asked.spec, asked.deadline);
  asked.speeds.assign(submission.known().begin(), submission.known().end());
  wire::QuoteReply reply;
  put_record(reply);
  if (asked.speeds.empty()) {
    reply.set_admitted(true);
    reply.set_provenance(std::string(to_string(Provenance::Assumed)));
    reply.set_message(
        "Nobody has measured this kind of job: it is measured first, and its deadline answered "
        "then.");
    return reply;
  }
  const Job wanted = engine_job(asked, JobId{next_engine_id_});
  const Quote quote = engine_->quote(now_, wanted);
  const bool is_refused = quote.verdict.kind == VerdictKind::Refuse;
  const Forecast outlook = is_refused ? Forecast{} : forecast_arrival(*engine_, now_, wanted);
  reply.set_admitted(!is_refused);
  reply.set_reason(std::string(to_string(quote.verdict.reason)));
  reply.set_message(std::string(sentence(quote.verdict.reason)));
  reply.set_gpu_hours(outlook.is_known() ? outlook.gpu_hours : quote.gpu_hours);
  reply.set_provenance(std::string(to_string(quote.provenance)));
  if (!is_refused && quote.verdict.promised != kNever) {
    put(reply.mutable_promised(), asked.deadline);
  }
  // Plans end before promises do; who asks for a promise needs the deadline with the margin in it.
  if (quote.earliest != kNever) {
    put(reply.mutable_earliest(), promised_for(quote.earliest));
  }
  for (const CounterOffer& offer : quote.offers) {
    wire::CounterOffer& each = *reply.add_offers();
    each.set_kind(std::string(to_string(offer.kind)));
    each.set_gpus(offer.gpus);
    if (offer.deadline != kNever) {
      put(each.mutable_deadline(), promised_for(offer.deadline));
    }
  }
  if (quote.finish != kNever) {
    put(reply.mutable_planned_finish(), quote.finish);
  }
  if (outlook.is_known() || quote.finish != kNever) {
    put_finish(outlook.is_known() ? outlook.finish : quote.finish, reply);
    reply.set_basis(outlook.is_known() ? "simulated" : "planned");
  }
  put_plan(quote.plan, now_, reply);
  return reply;
}

void Controller::put_finish(Instant finish, wire::QuoteReply& reply) const {
  const Duration spread = from_seconds(to_seconds(finish - now_) * band());
  put(reply.mutable_finish(), finish);
  put(reply.mutable_finish_early(), finish - spread);
  put(reply.mutable_finish_late(), finish + spread);
}

// The part of its duration by which a finish is uncertain.
double Controller::band() const {
  return quote_errors().size() >= kErrorsMin ? quote_record_.p90() : kBandByDefault;
}

// Our record with promises so far.
void Controller::put_record(wire::QuoteReply& reply) const {
  reply.set_promises_made(promises_due_);
  reply.set_promises_kept_ratio(
      promises_due_ == 0 ? 1 : static_cast<double>(promises_kept_) / promises_due_);
  reply.set_median_error_ratio(quote_record_.median());
}

void Controller::count_promise(const LiveJob& job) {
  if (job.has_promise() && job.state == LiveState::Succeeded) {
    ++promises_due_;
    promises_kept_ += job.end.at <= job.promise.promised ? 1 : 0;
  }
}

Result<wire::WhyReply> Controller::why(Instant now, JobId id) const {
  const LiveJob* job = find(id);
  if (job == nullptr) {
    return Error{.code = ErrorCode::NotFound, .message = fmt::format("no job {}", id.value)};
  }
  wire::WhyReply reply;
  reply.set_job(std::to_string(id.value));
  reply.set_standing(state_word(*job));
  reply.set_binding(job->message);
  if (const auto why = engine_->why(now, job->engine_id)) {
    reply.set_standing(why->standing);
    reply.set_reason(std::string(to_string(why->reason)));
    reply.set_binding(why->binding);
    reply.set_remedy(why->remedy);
  }
  return reply;
}

wire::NodeList Controller::nodes() const {
  wire::NodeList list;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeRecord& record = nodes_[i];
    wire::NodeStatus& node = *list.add_nodes();
    node.set_name(record.node.name);
    node.set_agent(record.node.agent);
    node.set_gpu_type(record.node.gpu_type);
    node.set_slots(record.node.slots);
    node.set_up(record.is_up);
    node.set_draining(record.is_draining);
    node.set_emulated(record.is_emulated);
    for (int index = 0; index < record.node.slots; ++index) {
      const SlotRef ref{.node = NodeId{i}, .index = index};
      wire::SlotStatus& slot = *node.add_slot();
      slot.set_index(index);
      if (const auto owner = slots_.owner(ref)) {
        slot.set_job(std::to_string(owner->value));
        slot.set_releasing(slots_.is_releasing(ref));
        node.set_slots_used(node.slots_used() + 1);
      }
      if (static_cast<std::size_t>(index) < record.devices.size()) {
        slot.set_device(record.devices[static_cast<std::size_t>(index)]);
      }
    }
    for (const ClosedTime& window : record.maintenance) {
      wire::MaintenanceWindow& each = *node.add_maintenance();
      put(each.mutable_from(), window.from);
      put(each.mutable_to(), window.to);
    }
  }
  return list;
}

wire::ReportReply Controller::report(Instant now, Instant since) const {
  wire::ReportReply report;
  if (shadow_) {
    *report.mutable_policy() = policy_status();
  }
  put(report.mutable_from(), since);
  put(report.mutable_to(), now);
  double jct = 0;
  for (const auto& [id, job] : jobs_) {
    if (job.submitted < since && !(is_over(job.state) && job.end.at >= since)) {
      continue;
    }
    *report.add_jobs() = status(now, job);
    report.set_submitted(report.submitted() + 1);
    report.set_refused(report.refused() + (job.state == LiveState::Rejected ? 1 : 0));
    report.set_failed(report.failed() + (job.state == LiveState::Failed ? 1 : 0));
    report.set_cancelled(report.cancelled() + (job.state == LiveState::Cancelled ? 1 : 0));
    if (job.state == LiveState::Succeeded) {
      report.set_finished(report.finished() + 1);
      jct += to_seconds(job.end.at - job.submitted);
    }
    if (job.has_promise()) {
      const bool is_late =
          is_over(job.state) ? job.end.at > job.promise.promised : now > job.promise.promised;
      report.set_promises_made(report.promises_made() + 1);
      report.set_promises_broken(report.promises_broken() + (is_late ? 1 : 0));
      report.set_promises_kept(report.promises_kept() +
                               (!is_late && job.state == LiveState::Succeeded ? 1 : 0));
    }
  }
  report.set_admitted(report.submitted() - report.refused());
  report.set_mean_jct_seconds(report.finished() == 0 ? 0 : jct / report.finished());
  report.set_gpu_hours_useful(usage_.useful / 3600);
  report.set_gpu_hours_lost(usage_.lost / 3600);
  report.set_gpu_hours_idle(usage_.idle / 3600);
  report.set_quote_error_p50(quote_record_.median());
  report.set_quote_error_p90(quote_record_.p90());
  return report;
}

wire::TenantList Controller::tenants(Instant now) const {
  std::map<std::string, wire::TenantStatus> found = tenants_;
  for (const auto& [id, job] : jobs_) {
    wire::TenantStatus& tenant = found[job.spec.tenant()];
    tenant.set_name(job.spec.tenant());
    const auto held = static_cast<int>(slots_.owned(id).size());
    const double since = to_seconds(now - job.used_until) * held;
    tenant.set_used_gpu_hours(tenant.used_gpu_hours() + (job.gpu_seconds + since) / 3600);
    tenant.set_gpus_now(tenant.gpus_now() + held);
    tenant.set_jobs(tenant.jobs() + (is_over(job.state) ? 0 : 1));
  }
  wire::TenantList list;
  for (const auto& [name, tenant] : found) {
    *list.add_tenants() = tenant;
  }
  return list;
}

const wire::TenantStatus* Controller::tenant(const std::string& name) const {
  const auto found = tenants_.find(name);
  return found == tenants_.end() ? nullptr : &found->second;
}

std::vector<Job> Controller::active_jobs() const {
  std::map<JobId, const LiveJob*> met;
  for (const auto& [id, job] : jobs_) {
    if (!is_over(job.state)) {
      met[job.engine_id] = &job;
    }
  }
  std::vector<Job> active;
  active.reserve(met.size());
  for (const auto& [engine_id, job] : met) {
    active.push_back(engine_job(*job, job->id));
  }
  return active;
}

std::vector<wire::SpeedPoint> Controller::known_speeds(const wire::JobSpec& spec) const {
  if (spec.speeds_size() > 0) {
    return {spec.speeds().begin(), spec.speeds().end()};
  }
  const auto found = speeds_.find({spec.model(), spec.batch()});
  return spec.model().empty() || found == speeds_.end() ? std::vector<wire::SpeedPoint>{}
                                                        : found->second;
}

}  // namespace rubato
