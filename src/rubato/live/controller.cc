// What each kind of input does.
#include "rubato/live/controller.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/live/scheduler_time.h"

namespace rubato {
namespace {

constexpr int kLossesMax = 3;  // In a row, without a step between them.

Topology topology_of(const std::vector<LiveNode>& nodes) {
  std::vector<NodeGroup> groups;
  for (const LiveNode& node : nodes) {
    groups.push_back({.nodes = 1,
                      .gpus_per_node = node.slots,
                      .gpu_type = node.gpu_type,
                      .region = {.name = node.agent}});
  }
  return Topology(groups);
}

std::vector<int> slots_of(const std::vector<LiveNode>& nodes) {
  std::vector<int> slots;
  for (const LiveNode& node : nodes) {
    slots.push_back(node.slots);
  }
  return slots;
}

std::string title(const LiveJob& job) {
  return job.spec.name().empty() ? fmt::format("job {}", job.id.value)
                                 : fmt::format("job {} ({})", job.id.value, job.spec.name());
}

}  // namespace

Controller::Controller(ControllerOptions options)
    : options_(std::move(options)),
      policy_(options_.policy),
      topology_(topology_of(options_.nodes)),
      slots_(slots_of(options_.nodes)) {
  for (const LiveNode& node : options_.nodes) {
    nodes_.push_back({.node = node, .is_up = true});
  }
}

Result<Controller> Controller::make(const ControllerOptions& options) {
  if (options.nodes.empty()) {
    return Error{.code = ErrorCode::BadConfig, .message = "a platform needs at least one node"};
  }
  Controller controller(options);
  auto engine = controller.make_engine(options.policy);
  if (!engine) {
    return engine.error();
  }
  controller.engine_.emplace(*std::move(engine));
  controller.refresh_nodes();
  controller.effects_ = {};
  return controller;
}

Effects Controller::on(Instant now, const wire::JournalInput& input) {
  RUBATO_CHECK(now >= now_);
  int up = 0;
  for (const NodeRecord& node : nodes_) {
    up += node.is_up ? node.node.slots : 0;
  }
  usage_.advance(now, up, slots_.held(), training_);
  now_ = now;
  effects_ = {};
  cause_ = {.text = "as planned"};
  refresh_nodes();
  switch (input.kind_case()) {
    case wire::JournalInput::kSubmitted:
      take(input.submitted());
      break;
    case wire::JournalInput::kCancelled:
      take(input.cancelled());
      break;
    case wire::JournalInput::kScaled:
      take(input.scaled());
      break;
    case wire::JournalInput::kHello:
      take(input.hello());
      break;
    case wire::JournalInput::kReport:
      take(input.report());
      break;
    case wire::JournalInput::kHeld:
      take(input.held());
      break;
    case wire::JournalInput::kEnded:
      take(input.ended());
      break;
    case wire::JournalInput::kNode:
      take(input.node());
      break;
    case wire::JournalInput::kNodeRequest:
      take(input.node_request());
      break;
    case wire::JournalInput::kTenant:
      take(input.tenant());
      break;
    case wire::JournalInput::kPolicy:
      take(input.policy());
      break;
    case wire::JournalInput::kWoken:
      take(input.woken());
      break;
    case wire::JournalInput::KIND_NOT_SET:
      break;
  }
  settle();
  return std::exchange(effects_, {});
}

Instant Controller::wake() const {
  Instant next = std::min(wake_, next_limit());
  for (const NodeRecord& node : nodes_) {
    for (const ClosedTime& window : node.maintenance) {
      for (const Instant edge : {window.from, window.to}) {
        next = edge > now_ ? std::min(next, edge) : next;
      }
    }
  }
  return next;
}

void Controller::take(const wire::Submitted& submitted) {
  const JobId id{submitted.job()};
  LiveJob& job = jobs_[id];
  job.id = id;
  job.spec = submitted.spec();
  job.user = submitted.user();
  job.submitted = now_;
  job.used_until = now_;
  job.runtime_max = runtime_max_of(job.spec);
  note_limit(job);
  job.deadline = submitted.deadline_us() == 0 ? kNever : Instant{Duration{submitted.deadline_us()}};
  job.job_class = job_class_of(job.spec, job.deadline);
  job.speeds.assign(submitted.known().begin(), submitted.known().end());
  job.state = job.speeds.empty() ? LiveState::Profiling : LiveState::Pending;
  cause_ = {.text = fmt::format("arrival of {}", title(job)), .by = fmt::format("{}", id.value)};
  tell("job.submitted", job, fmt::format("{} submitted by {}", title(job), job.user));
  arrive(job);
}

void Controller::take(const wire::Cancelled& cancelled) {
  const auto found = jobs_.find(JobId{cancelled.job()});
  if (found == jobs_.end() || is_over(found->second.state)) {
    return;
  }
  LiveJob& job = found->second;
  cause_ = {.text = fmt::format("{} was cancelled", title(job)), .by = cancelled.user()};
  send_stop(job, cancelled.reason());
  leave_engine(job, Outcome::Cancelled);
  finish(job, LiveState::Cancelled, "job.cancelled",
         fmt::format("{} cancelled by {}", title(job), cancelled.user()));
}

void Controller::take(const wire::Scaled& scaled) {
  const auto found = jobs_.find(JobId{scaled.job()});
  if (found == jobs_.end() || is_over(found->second.state)) {
    return;
  }
  LiveJob& job = found->second;
  cause_ = {.text = fmt::format("{} scaled {}", scaled.user(), title(job)), .by = scaled.user()};
  *job.spec.mutable_workers() = scaled.workers();
  leave_engine(job, Outcome::Cancelled);
  arrive(job);
}

void Controller::take(const wire::AgentHello& hello) {
  for (const wire::AgentNode& node : hello.nodes()) {
    for (NodeRecord& record : nodes_) {
      if (record.node.agent == hello.agent() && record.node.name == node.name()) {
        record.is_attached = true;
        record.is_emulated = node.emulated();
        record.devices.clear();
        for (const wire::AgentSlot& slot : node.slots()) {
          record.devices.push_back(slot.description());
        }
      }
    }
  }
  cause_ = {.text = fmt::format("agent {} came", hello.agent()), .by = hello.agent()};
  reconcile(hello);
  refresh_nodes();
}

void Controller::take(const wire::JobReport& report) {
  const auto found = jobs_.find(job_id_of(report.job()));
  if (found == jobs_.end() || is_over(found->second.state)) {
    return;
  }
  LiveJob& job = found->second;
  set_training(job, report.workers());
  job.done = report.done();
  job.loss = report.loss();
  job.speed = report.speed() > 0 ? report.speed() : job.speed;
  job.restarts = job.restarts_before + static_cast<int>(report.restarts());
  if (job.started == kNever && report.done() > 0) {
    job.started = now_;
    tell("job.started", job, fmt::format("{} trains", title(job)));
  }
  if (report.order() == job.order && report.workers() > 0 && job.state != LiveState::Profiling) {
    job.state = LiveState::Running;
  }
  learn(job, report);
  if (is_over(job.state) || job.share == 0) {
    return;
  }
  cause_ = {.text = fmt::format("measured speed of {}", title(job))};
  // While workers come and go the engine believes in what it ordered; recovery is the job's own.
  const bool is_settled = report.order() == job.order && report.workers() == job.share;
  feed(Measured{.job = job.engine_id,
                .done = std::max(0.0, job.done - job.base),
                .speed = is_settled && job.state == LiveState::Running ? report.speed() : 0,
                .workers = job.share});
  check_promise(job);
}

void Controller::take(const wire::SlotsHeld& held) {
  const auto found = jobs_.find(job_id_of(held.job()));
  if (found == jobs_.end()) {
    return;
  }
  count_use(found->second);
  slots_.hold(found->first, slot_set(held.slots()));
}

void Controller::take(const wire::JobEnded& ended) {
  const auto found = jobs_.find(job_id_of(ended.job()));
  wire::ToAgent forget;
  forget.mutable_forget()->set_job(ended.job());
  if (found == jobs_.end()) {
    effects_.orders.push_back({.agent = {}, .message = forget});
    return;
  }
  LiveJob& job = found->second;
  if (ended.outcome() == "suspended" || ended.outcome() == "lost" || ended.outcome() == "requeue") {
    on_loss(job, ended);
    return;
  }
  count_use(job);
  slots_.forget(job.id);
  if (!is_over(job.state)) {
    on_final_end(job, ended);
  }
  effects_.orders.push_back({.agent = agent_of(job), .message = forget});
}

void Controller::on_final_end(LiveJob& job, const wire::JobEnded& ended) {
  job.done = ended.done();
  job.end.exit_code = ended.exit_code();
  job.end.cause = ended.detail().empty() ? ended.cause() : ended.detail();
  job.end.parameter_hash = ended.parameter_hash();
  const bool is_finished = ended.outcome() == "finished";
  cause_ = {.text = fmt::format("{} {}", title(job), is_finished ? "finished" : "failed"),
            .by = fmt::format("{}", job.id.value)};
  leave_engine(job, is_finished ? Outcome::Finished : Outcome::Failed);
  if (is_finished) {
    finish(job, LiveState::Succeeded, "job.succeeded", fmt::format("{} finished", title(job)));
  } else {
    finish(job, LiveState::Failed, "job.failed",
           fmt::format("{} failed: {}", title(job), job.end.cause));
  }
}

// What ran it is gone, by our order or not; its state is kept.
void Controller::on_loss(LiveJob& job, const wire::JobEnded& ended) {
  if (is_over(job.state) || ended.order() < job.order) {
    return;  // A later order is under way and starts it again.
  }
  set_training(job, 0);
  slots_.release(job.id);
  job.done = ended.done();
  job.restarts_before = job.restarts;
  const bool is_ours = ended.outcome() != "lost" && slots_.wanted(job.id) == 0;
  if (is_ours) {
    job.state = LiveState::Suspended;
    return;
  }
  if (ended.outcome() == "suspended") {
    return;  // It makes way for others before it starts elsewhere.
  }
  job.losses = ended.done() > job.done_at_loss ? 0 : job.losses;
  job.losses += ended.outcome() == "lost" ? 1 : 0;
  job.done_at_loss = ended.done();
  if (job.losses > kLossesMax) {
    slots_.forget(job.id);
    wire::JobEnded failed = ended;
    failed.set_outcome("failed");
    on_final_end(job, failed);
    send_stop(job, "lost too often");
    return;
  }
  job.state = LiveState::Recovering;
  job.restarts_before = ++job.restarts;
  cause_ = {.text = fmt::format("{} lost its workers", title(job))};
  tell("job.recovering", job, fmt::format("{}: {}", title(job), ended.detail()));
  if (job.share > 0) {
    feed(Measured{.job = job.engine_id, .done = std::max(0.0, job.done - job.base)});
  }
}

void Controller::take(const wire::NodeChanged& change) {
  for (NodeRecord& record : nodes_) {
    if (record.node.name == change.node()) {
      record.is_attached = change.up();
    }
  }
  cause_ = {.text = fmt::format("node {} {}", change.node(), change.up() ? "came" : "is gone"),
            .by = change.node()};
  refresh_nodes();
}

void Controller::take(const wire::NodeRequested& request) {
  for (NodeRecord& record : nodes_) {
    if (record.node.name != request.node()) {
      continue;
    }
    if (request.request().drain() || request.request().resume()) {
      record.is_draining = request.request().drain();
    }
    if (request.request().has_maintenance()) {
      const auto from = from_timestamp(request.request().maintenance().from());
      const auto to = from_timestamp(request.request().maintenance().to());
      if (from && to) {
        record.maintenance.push_back({.from = *from, .to = *to});
      }
    }
  }
  cause_ = {.text = fmt::format("{} changed node {}", request.user(), request.node()),
            .by = request.user()};
  refresh_nodes();
}

void Controller::take(const wire::TenantSet& tenant) {
  if (tenant.removed()) {
    tenants_.erase(tenant.tenant().name());
  } else {
    tenants_[tenant.tenant().name()] = tenant.tenant();
  }
}

void Controller::take(const wire::PolicySet& policy) {
  if (policy.is_shadow() || policy.policy() == policy_) {
    return;
  }
  auto engine = make_engine(policy.policy());
  if (!engine) {
    tell("alarm", engine.error().message);
    return;
  }
  engine_.emplace(*std::move(engine));
  policy_ = policy.policy();
  wake_ = kNever;
  names_.clear();
  cause_ = {.text = fmt::format("{} set the policy {}", policy.user(), policy_),
            .by = policy.user()};
  tell("policy.changed", cause_.text);
  for (NodeRecord& record : nodes_) {
    record.is_up = true;
  }
  refresh_nodes();
  for (auto& [id, job] : jobs_) {
    if (!is_over(job.state)) {
      slots_.want(id, {});
      arrive(job);
    }
  }
}

void Controller::take(const wire::Woken& /*woken*/) {
  end_overdue();
  if (wake_ <= now_) {
    wake_ = kNever;
    cause_ = wake_cause_;
    feed(Tick{});
  }
}

}  // namespace rubato
