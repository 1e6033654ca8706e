// What each kind of input does.
#include "rubato/live/controller/controller.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/live/controller/agent_report_limits.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

constexpr int kLossesMax = 3;  // In a row, without a step between them.

std::vector<int> slots_of(const std::vector<LiveNode>& nodes) {
  std::vector<int> slots;
  slots.reserve(nodes.size());
  for (const LiveNode& node : nodes) {
    slots.push_back(node.slots);
  }
  return slots;
}

// A measured speed, or zero if the belief is as good: no two seconds are quite alike, and plans
// leave a margin for that. Steps that fall behind nevertheless are counted as such.
double speed_news(const JobState* state, double speed, double tolerance) {
  const double sanitized = state == nullptr ? 0 : state->progress.speed;
  return std::abs(speed - sanitized) <= tolerance * sanitized ? 0 : speed;
}

// For causes: they are told to the owners of other jobs, who may not know what this one is called.
std::string numbered(const LiveJob& job) { return fmt::format("job {}", job.id.value); }

std::string title(const LiveJob& job) {
  return job.spec.name().empty() ? numbered(job)
                                 : fmt::format("{} ({})", numbered(job), job.spec.name());
}

}  // namespace

Controller::Controller(ControllerOptions options)
    : options_(std::move(options)), policy_(options_.policy), slots_(slots_of(options_.nodes)) {
  for (const LiveNode& node : options_.nodes) {
    slots_.set_site(NodeId{nodes_.size()}, site_of(node.agent));
    nodes_.push_back({.node = node, .is_up = true});
  }
  engine_nodes_ = nodes_.size();
  topology_ = topology_of(nodes_);
}

Result<Controller> Controller::make(const ControllerOptions& options) {
  if (options.nodes.empty()) {
    return Error{.code = ErrorCode::BadConfig, .message = "a platform needs at least one node"};
  }
  Controller controller(options);
  auto engine = controller.make_engine(options.policy, controller.engine_nodes_);
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
  speaker_ = input.agent();
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
  if (shadow_) {
    shadow_->advance(now_);
  }
  return std::exchange(effects_, {});
}

Instant Controller::wake() const {
  Instant next = std::min({wake_, next_limit(), shadow_wake()});
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
  cause_ = {.text = fmt::format("arrival of {}", numbered(job)), .by = fmt::format("{}", id.value)};
  tell("job.submitted", job, fmt::format("{} submitted by {}", title(job), job.user));
  arrive(job);
  tell_shadow(job);
}

void Controller::take(const wire::Cancelled& cancelled) {
  const auto found = jobs_.find(JobId{cancelled.job()});
  if (found == jobs_.end() || is_over(found->second.state)) {
    return;
  }
  LiveJob& job = found->second;
  cause_ = {.text = fmt::format("{} was cancelled", numbered(job)), .by = cancelled.user()};
  send_stop(job, cancelled.reason());
  leave_engine(job, Outcome::Cancelled);
  leave_shadow(job);
  finish(job, LiveState::Cancelled, "job.cancelled",
         fmt::format("{} cancelled by {}", title(job), cancelled.user()));
}

void Controller::take(const wire::Scaled& scaled) {
  const auto found = jobs_.find(JobId{scaled.job()});
  if (found == jobs_.end() || is_over(found->second.state)) {
    return;
  }
  LiveJob& job = found->second;
  cause_ = {.text = fmt::format("{} scaled {}", scaled.user(), numbered(job)), .by = scaled.user()};
  *job.spec.mutable_workers() = scaled.workers();
  leave_engine(job, Outcome::Cancelled);
  arrive(job);
  leave_shadow(job);
  tell_shadow(job);
}

void Controller::take(const wire::AgentHello& hello) {
  cause_ = {.text = fmt::format("agent {} came", hello.agent()), .by = hello.agent()};
  for (const wire::AgentNode& node : hello.nodes()) {
    welcome(node, hello.agent());
  }
  reconcile(hello);
  refresh_nodes();
}

void Controller::take(const wire::JobReport& said) {
  const wire::JobReport report = sanitized(said);
  const auto found = jobs_.find(job_id_of(report.job()));
  if (found == jobs_.end() || is_over(found->second.state) || is_foreign(found->second)) {
    return;
  }
  LiveJob& job = found->second;
  set_training(job, report.workers());
  job.done = report.done();
  job.loss = report.loss();
  if (report.has_memory()) {
    job.memory = report.memory();
  }
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
  cause_ = {.text = fmt::format("measured speed of {}", numbered(job))};
  // While workers come and go the engine believes in what it ordered; recovery is the job's own.
  const bool is_settled = report.order() == job.order && report.workers() == job.share;
  feed(ProgressReport{.job = job.engine_id,
                      .done = estimated_done(job),
                      .speed = is_settled && job.state == LiveState::Running
                                   ? speed_news(engine_->state().jobs.find(job.engine_id),
                                                report.speed(), options_.margin / 2)
                                   : 0,
                      .workers = job.share});
  check_promise(job);
}

// Steps count when they are committed, and are told of a moment later. A belief within that is
// right: to correct it with every report would make each plan look late by half a step.
double Controller::estimated_done(const LiveJob& job) const {
  const double told = std::max(0.0, job.done - job.base);
  const JobState* state = engine_->state().jobs.find(job.engine_id);
  if (state == nullptr) {
    return told;
  }
  return std::clamp(state->progress.at(now_), told, told + unseen_steps(state->progress.speed));
}

void Controller::take(const wire::SlotsHeld& held) {
  const auto found = jobs_.find(job_id_of(held.job()));
  if (found == jobs_.end()) {
    return;
  }
  count_use(found->second);
  slots_.hold(found->first, slot_set(held.slots()));
}

void Controller::take(const wire::JobEnded& said) {
  const wire::JobEnded ended = sanitized(said);
  const auto found = jobs_.find(job_id_of(ended.job()));
  wire::ToAgent forget;
  forget.mutable_forget()->set_job(ended.job());
  if (found == jobs_.end()) {
    effects_.orders.push_back({.agent = speaker_, .message = forget});
    return;
  }
  LiveJob& job = found->second;
  if (is_foreign(job)) {
    let_go(job, speaker_);
    if (ended.outcome() == "finished" && job.agents.contains(speaker_) && !is_over(job.state)) {
      // It was given up for lost and got there first.
      send_stop(job, "it has finished elsewhere");
      on_final_end(job, ended);
    }
    effects_.orders.push_back({.agent = speaker_, .message = forget});
    return;
  }
  if (ended.outcome() == "suspended" || ended.outcome() == "lost" || ended.outcome() == "requeue") {
    on_loss(job, ended);
    effects_.orders.push_back({.agent = agent_of(job), .message = forget});
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
  cause_ = {.text = fmt::format("{} {}", numbered(job), is_finished ? "finished" : "failed"),
            .by = fmt::format("{}", job.id.value)};
  leave_engine(job, is_finished ? Outcome::Finished : Outcome::Failed);
  if (is_finished) {
    job.promise.is_simulated = job.promise.is_simulated && !ended.by_until();
    finish(job, LiveState::Succeeded, "job.succeeded",
           ended.by_until() ? fmt::format("{} finished: {}", title(job), ended.detail())
                            : fmt::format("{} finished", title(job)));
  } else {
    leave_shadow(job);
    finish(job, LiveState::Failed, "job.failed",
           fmt::format("{} failed: {}", title(job), job.end.cause));
  }
}

// What ran it is gone, by our order or not; its state is kept.
void Controller::on_loss(LiveJob& job, const wire::JobEnded& ended) {
  if (is_over(job.state) || ended.order() < job.order) {
    return;  // A later order is under way and starts it again.
  }
  // Agents tell of an end until the next order: it is no further loss.
  const bool is_known = job.state == LiveState::Recovering && slots_.ordered(job.id).empty();
  set_training(job, 0);
  slots_.release(job.id);
  if (is_known) {
    return;
  }
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
  cause_ = {.text = fmt::format("{} lost its workers", numbered(job))};
  tell("job.recovering", job, fmt::format("{}: {}", title(job), ended.detail()));
  if (job.share > 0) {
    feed(ProgressReport{.job = job.engine_id, .done = std::max(0.0, job.done - job.base)});
  }
}

void Controller::take(const wire::NodeChanged& change) {
  cause_ = {.text = fmt::format("node {} {}", change.node(), change.up() ? "came" : "is gone"),
            .by = change.node()};
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].node.name != change.node()) {
      continue;
    }
    nodes_[i].is_attached = change.up();
    slots_.set_lost(NodeId{i}, !change.up());
    if (!change.up()) {
      lose_jobs_on(NodeId{i});
    }
  }
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

void Controller::take(const wire::PolicySet& policy) {
  if (policy.is_shadow()) {
    set_shadow(policy);
    return;
  }
  if (policy.policy() == policy_) {
    return;
  }
  cause_ = {.text = fmt::format("{} set the policy {}", policy.user(), policy.policy()),
            .by = policy.user()};
  tell("policy.changed", cause_.text);
  begin_again(policy.policy());
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
