// The controller's state as bytes, and back.
#include <utility>

#include "rubato/live/controller.h"

namespace rubato {
namespace {

std::int64_t micros(Instant moment) { return moment.time_since_epoch().count(); }
Instant moment_of(std::int64_t micros) { return Instant{Duration{micros}}; }

wire::SavedJob saved(const LiveJob& job) {
  wire::SavedJob to;
  to.set_id(job.id.value);
  to.set_engine_id(job.engine_id.value);
  to.set_base(job.base);
  *to.mutable_spec() = job.spec;
  to.set_user(job.user);
  to.set_submitted_us(micros(job.submitted));
  to.set_deadline_us(micros(job.deadline));
  to.set_job_class(static_cast<int>(job.job_class));
  to.set_state(static_cast<int>(job.state));
  to.set_reason(static_cast<int>(job.reason));
  to.set_message(job.message);
  to.set_promised_us(micros(job.promise.promised));
  to.set_quoted_finish_us(micros(job.promise.quoted_finish));
  to.set_is_at_risk(job.promise.is_at_risk);
  to.set_end_us(micros(job.end.at));
  to.set_exit_code(job.end.exit_code);
  to.set_end_cause(job.end.cause);
  to.set_parameter_hash(job.end.parameter_hash);
  to.set_order(job.order);
  to.set_share(job.share);
  to.set_done(job.done);
  to.set_speed(job.speed);
  to.set_loss(job.loss);
  to.set_workers(job.workers);
  to.mutable_speeds()->Assign(job.speeds.begin(), job.speeds.end());
  to.set_started_us(micros(job.started));
  to.set_used_until_us(micros(job.used_until));
  to.set_gpu_seconds(job.gpu_seconds);
  to.set_ran_us(job.ran.count());
  to.set_losses(job.losses);
  to.set_done_at_loss(job.done_at_loss);
  to.set_restarts(job.restarts);
  to.set_restarts_before(job.restarts_before);
  for (const ResizeRecord& resize : job.resizes) {
    wire::SavedResize& each = *to.add_resizes();
    each.set_at_us(micros(resize.at));
    each.set_before(resize.before);
    each.set_after(resize.after);
    each.set_cause(resize.cause);
    each.set_caused_by(resize.caused_by);
  }
  return to;
}

LiveJob restored(const wire::SavedJob& from) {
  LiveJob job;
  job.id = JobId{from.id()};
  job.engine_id = JobId{from.engine_id()};
  job.base = from.base();
  job.spec = from.spec();
  job.runtime_max = runtime_max_of(job.spec);
  job.user = from.user();
  job.submitted = moment_of(from.submitted_us());
  job.deadline = moment_of(from.deadline_us());
  job.job_class = static_cast<JobClass>(from.job_class());
  job.state = static_cast<LiveState>(from.state());
  job.reason = static_cast<Reason>(from.reason());
  job.message = from.message();
  job.promise = {.promised = moment_of(from.promised_us()),
                 .quoted_finish = moment_of(from.quoted_finish_us()),
                 .is_at_risk = from.is_at_risk()};
  job.end = {.at = moment_of(from.end_us()),
             .exit_code = from.exit_code(),
             .cause = from.end_cause(),
             .parameter_hash = from.parameter_hash()};
  job.order = from.order();
  job.share = from.share();
  job.done = from.done();
  job.speed = from.speed();
  job.loss = from.loss();
  job.workers = from.workers();
  job.speeds.assign(from.speeds().begin(), from.speeds().end());
  job.started = moment_of(from.started_us());
  job.used_until = moment_of(from.used_until_us());
  job.gpu_seconds = from.gpu_seconds();
  job.ran = Duration{from.ran_us()};
  job.losses = from.losses();
  job.done_at_loss = from.done_at_loss();
  job.restarts = from.restarts();
  job.restarts_before = from.restarts_before();
  for (const wire::SavedResize& each : from.resizes()) {
    job.resizes.push_back({.at = moment_of(each.at_us()),
                           .before = each.before(),
                           .after = each.after(),
                           .cause = each.cause(),
                           .caused_by = each.caused_by()});
  }
  return job;
}

wire::SavedNode saved(const NodeRecord& node) {
  wire::SavedNode to;
  to.set_is_attached(node.is_attached);
  to.set_is_draining(node.is_draining);
  to.set_is_emulated(node.is_emulated);
  to.set_is_up(node.is_up);
  to.mutable_devices()->Assign(node.devices.begin(), node.devices.end());
  for (const ClosedTime& window : node.maintenance) {
    to.add_closed_us(micros(window.from));
    to.add_closed_us(micros(window.to));
  }
  return to;
}

void restore(const wire::SavedNode& from, NodeRecord& node) {
  node.is_attached = from.is_attached();
  node.is_draining = from.is_draining();
  node.is_emulated = from.is_emulated();
  node.is_up = from.is_up();
  node.devices.assign(from.devices().begin(), from.devices().end());
  node.maintenance.clear();
  for (int i = 0; i + 1 < from.closed_us_size(); i += 2) {
    node.maintenance.push_back(
        {.from = moment_of(from.closed_us(i)), .to = moment_of(from.closed_us(i + 1))});
  }
}

}  // namespace

std::string Controller::save() const {
  wire::SavedController to;
  to.set_policy(policy_);
  to.set_now_us(micros(now_));
  to.set_wake_us(micros(wake_));
  to.set_wake_cause(wake_cause_.text);
  to.set_wake_caused_by(wake_cause_.by);
  to.set_next_engine_id(next_engine_id_);
  to.set_next_event(next_event_);
  for (const auto& [id, job] : jobs_) {
    wire::SavedJob& each = *to.add_jobs();
    each = saved(job);
    each.set_agent(agent_of(job));
    each.set_is_known_to_engine(names_.contains(job.engine_id));
  }
  for (const wire::SavedSeats& seats : slots_.save()) {
    *to.add_seats() = seats;
  }
  for (const NodeRecord& node : nodes_) {
    *to.add_nodes() = saved(node);
  }
  for (const auto& [key, speeds] : speeds_) {
    wire::SavedSpeeds& each = *to.add_speeds();
    each.set_model(key.first);
    each.set_batch(key.second);
    each.mutable_speeds()->Assign(speeds.begin(), speeds.end());
  }
  for (const auto& [name, tenant] : tenants_) {
    *to.add_tenants() = tenant;
  }
  to.set_usage_since_us(micros(usage_.since));
  to.set_useful(usage_.useful);
  to.set_lost(usage_.lost);
  to.set_idle(usage_.idle);
  to.set_training(training_);
  to.mutable_quote_errors()->Assign(quote_errors_.begin(), quote_errors_.end());
  to.set_engine(engine_->save());
  return to.SerializeAsString();
}

Result<Controller> Controller::load(const ControllerOptions& options, std::string_view bytes) {
  wire::SavedController from;
  if (!from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      static_cast<std::size_t>(from.nodes_size()) != options.nodes.size()) {
    return Error{.code = ErrorCode::BadInput, .message = "the checkpoint cannot be read"};
  }
  Controller controller(options);
  auto engine = controller.make_engine(from.policy());
  if (!engine) {
    return engine.error();
  }
  if (const Status loaded = engine->load(from.engine()); !loaded) {
    return loaded.error();
  }
  controller.engine_.emplace(*std::move(engine));
  controller.policy_ = from.policy();
  controller.now_ = moment_of(from.now_us());
  controller.wake_ = moment_of(from.wake_us());
  controller.wake_cause_ = {.text = from.wake_cause(), .by = from.wake_caused_by()};
  controller.next_engine_id_ = from.next_engine_id();
  controller.next_event_ = from.next_event();
  for (const wire::SavedJob& job : from.jobs()) {
    const JobId id{job.id()};
    controller.jobs_[id] = restored(job);
    controller.note_limit(controller.jobs_[id]);
    if (!job.agent().empty()) {
      controller.agents_[id] = job.agent();
    }
    if (job.is_known_to_engine()) {
      controller.names_[JobId{job.engine_id()}] = id;
    }
  }
  for (const wire::SavedSeats& seats : from.seats()) {
    controller.slots_.load(seats);
  }
  for (int i = 0; i < from.nodes_size(); ++i) {
    restore(from.nodes(i), controller.nodes_[static_cast<std::size_t>(i)]);
  }
  for (const wire::SavedSpeeds& each : from.speeds()) {
    controller.speeds_[{each.model(), each.batch()}].assign(each.speeds().begin(),
                                                            each.speeds().end());
  }
  for (const wire::TenantStatus& tenant : from.tenants()) {
    controller.tenants_[tenant.name()] = tenant;
  }
  controller.usage_ = {.since = moment_of(from.usage_since_us()),
                       .useful = from.useful(),
                       .lost = from.lost(),
                       .idle = from.idle()};
  controller.training_ = from.training();
  controller.quote_errors_.assign(from.quote_errors().begin(), from.quote_errors().end());
  return controller;
}

}  // namespace rubato
