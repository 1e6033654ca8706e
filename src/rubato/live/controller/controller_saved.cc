// The controller's state as bytes, and back.
#include <algorithm>
#include <utility>

#include "rubato/live/controller/controller.h"

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
  to.set_is_quote_simulated(job.promise.is_simulated);
  to.set_is_at_risk(job.promise.is_at_risk);
  to.set_end_us(micros(job.end.at));
  to.set_exit_code(job.end.exit_code);
  to.set_end_cause(job.end.cause);
  to.set_parameter_hash(job.end.parameter_hash);
  to.set_order(job.order);
  to.set_decided_us(micros(job.decided));
  to.mutable_agents()->Assign(job.agents.begin(), job.agents.end());
  to.set_share(job.share);
  to.set_done(job.done);
  to.set_speed(job.speed);
  to.set_loss(job.loss);
  if (job.memory) {
    *to.mutable_memory() = *job.memory;
  }
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
                 .is_simulated = from.is_quote_simulated(),
                 .is_at_risk = from.is_at_risk()};
  job.end = {.at = moment_of(from.end_us()),
             .exit_code = from.exit_code(),
             .cause = from.end_cause(),
             .parameter_hash = from.parameter_hash()};
  job.order = from.order();
  job.decided = moment_of(from.decided_us());
  job.agents.insert(from.agents().begin(), from.agents().end());
  job.share = from.share();
  job.done = from.done();
  job.speed = from.speed();
  job.loss = from.loss();
  if (from.has_memory()) {
    job.memory = from.memory();
  }
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
  to.set_name(node.node.name);
  to.set_agent(node.node.agent);
  to.set_gpu_type(node.node.gpu_type);
  to.set_slots(node.node.slots);
  to.mutable_devices()->Assign(node.devices.begin(), node.devices.end());
  for (const ClosedTime& window : node.maintenance) {
    to.add_closed_us(micros(window.from));
    to.add_closed_us(micros(window.to));
  }
  return to;
}

LiveNode live_node(const wire::SavedNode& from) {
  return {.name = from.name(),
          .agent = from.agent(),
          .gpu_type = from.gpu_type(),
          .slots = from.slots()};
}

// Whether there are at least the nodes that the platform was set up with, and none is impossible.
bool has_all_nodes(const wire::SavedController& from, std::size_t given) {
  const auto nodes = static_cast<std::size_t>(from.nodes_size());
  const bool are_possible = std::ranges::all_of(from.nodes(), [](const wire::SavedNode& node) {
    return node.name().empty() || (node.slots() >= 1 && node.slots() <= kSlotsOfALiveNodeMax);
  });
  return nodes >= given && are_possible && from.engine_nodes() >= 0 &&
         static_cast<std::size_t>(from.engine_nodes()) <= nodes;
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
  to.mutable_quote_errors()->Assign(quote_errors().begin(), quote_errors().end());
  to.set_outlook_from_us(micros(outlook_from_));
  to.set_outlook_visits(forecast_budget_);
  to.set_engine_nodes(static_cast<int>(engine_nodes_));
  to.set_engine(engine_->save());
  if (shadow_) {
    *to.mutable_shadow() = shadow_->save();
    to.mutable_shadow()->set_nodes(static_cast<int>(shadow_nodes_));
    to.mutable_shadow()->set_useful_before(usage_at_shadow_.useful);
    to.mutable_shadow()->set_lost_before(usage_at_shadow_.lost);
    to.mutable_shadow()->set_idle_before(usage_at_shadow_.idle);
  }
  return to.SerializeAsString();
}

Status Controller::load_shadow(const wire::SavedShadow& from) {
  shadow_nodes_ = static_cast<std::size_t>(std::max(from.nodes(), 0));
  if (shadow_nodes_ > nodes_.size()) {
    return bad_input("the shadow began with nodes that there are not");
  }
  auto engine = make_engine(from.policy(), shadow_nodes_);
  if (!engine) {
    return engine.error();
  }
  shadow_.emplace(from.policy(), *std::move(engine), Instant{});
  usage_at_shadow_ = {
      .useful = from.useful_before(), .lost = from.lost_before(), .idle = from.idle_before()};
  return shadow_->load(from);
}

Result<Controller> Controller::load(const ControllerOptions& options, std::string_view bytes) {
  wire::SavedController from;
  if (!from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      !has_all_nodes(from, options.nodes.size())) {
    return Error{.code = ErrorCode::BadInput, .message = "the checkpoint cannot be read"};
  }
  ControllerOptions grown = options;
  for (int i = 0; i < from.nodes_size(); ++i) {
    if (!from.nodes(i).name().empty()) {
      grown.nodes.resize(std::max(grown.nodes.size(), static_cast<std::size_t>(i) + 1));
      grown.nodes[static_cast<std::size_t>(i)] = live_node(from.nodes(i));
    }
  }
  Controller controller(grown);
  controller.options_ = options;
  controller.engine_nodes_ =
      from.engine_nodes() == 0 ? grown.nodes.size() : static_cast<std::size_t>(from.engine_nodes());
  for (const wire::TenantStatus& tenant : from.tenants()) {
    controller.tenants_[tenant.name()] = tenant;
  }
  auto engine = controller.make_engine(from.policy(), controller.engine_nodes_);
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
    controller.count_promise(controller.jobs_[id] = restored(job));
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
    NodeRecord& node = controller.nodes_[static_cast<std::size_t>(i)];
    restore(from.nodes(i), node);
    controller.slots_.set_lost(NodeId{static_cast<std::uint64_t>(i)}, !node.is_attached);
  }
  for (const wire::SavedSpeeds& each : from.speeds()) {
    controller.speeds_[{each.model(), each.batch()}].assign(each.speeds().begin(),
                                                            each.speeds().end());
  }
  controller.usage_ = {.since = moment_of(from.usage_since_us()),
                       .useful = from.useful(),
                       .lost = from.lost(),
                       .idle = from.idle()};
  if (from.has_shadow()) {
    if (const Status loaded = controller.load_shadow(from.shadow()); !loaded) {
      return loaded.error();
    }
  }
  controller.training_ = from.training();
  for (const double error : from.quote_errors()) {
    controller.quote_record_.add(error);
  }
  controller.outlook_from_ = moment_of(from.outlook_from_us());
  controller.forecast_budget_ = from.outlook_visits();
  return controller;
}

}  // namespace rubato
