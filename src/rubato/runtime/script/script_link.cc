#include "rubato/runtime/script/script_link.h"

#include <cmath>
#include <unistd.h>
#include <utility>

#include "rubato/base/time.h"

namespace rubato::runtime::script {

using wire::script::FromScript;

ScriptLink::ScriptLink(ScriptAddress address, Duration shrink_grace)
    : address_(std::move(address)), shrink_grace_(shrink_grace), owner_(::getpid()) {}

ScriptLink::~ScriptLink() {
  if (::getpid() != owner_) {
    // A child's copy: its thread does not run and its locks may be held. The kernel takes it all.
    [[maybe_unused]] ScriptConnection* const left = connection_.release();
  }
}

Result<std::unique_ptr<ScriptLink>> ScriptLink::connect(ScriptAddress address,
                                                        Duration shrink_grace) {
  std::unique_ptr<ScriptLink> link(
      new ScriptLink(std::move(address), shrink_grace));  // NOLINT: the constructor is private
  if (Status opened = link->open(); !opened) {
    return opened.error();
  }
  link->welcome_ = link->connection_->welcome();
  if (const std::uint64_t period = link->welcome_.snapshot_steps(); period > 0) {
    link->snapshot_due_ = (link->welcome_.resume_step() / period + 1) * period;
  }
  return link;
}

Status ScriptLink::open() {
  auto opened = ScriptConnection::open(address_, state_, shrink_grace_);
  if (!opened) {
    return opened.error();
  }
  connection_ = std::move(*opened);
  return ok_status();
}

bool ScriptLink::is_usable() const { return connection_ != nullptr && ::getpid() == owner_; }

void ScriptLink::send(const FromScript& message) {
  if (is_usable()) {
    connection_->send(message);
  }
}

std::string ScriptLink::exit_reason() const {
  return is_usable() ? connection_->exit_reason() : std::string{};
}

Result<std::optional<std::string>> ScriptLink::resume_state() const {
  return is_usable() ? connection_->resume_state() : std::optional<std::string>{};
}

void ScriptLink::report_step(std::uint64_t step, double loss) {
  state_.step = step;
  if (std::isfinite(loss)) {
    state_.loss = loss;
    state_.has_loss = true;
  }
  if (steps_per_epoch_ > 0) {
    state_.epoch = step / steps_per_epoch_;
  }
  if (snapshot_due_ > 0 && step >= snapshot_due_) {
    snapshot_due_ = (step / welcome_.snapshot_steps() + 1) * welcome_.snapshot_steps();
    state_.wants_snapshot = true;
  }
  const auto& milestones = welcome_.milestones();
  const auto done_before = milestones_done_;
  while (milestones_done_ < static_cast<std::size_t>(milestones.size()) &&
         milestones[static_cast<int>(milestones_done_)] <= step) {
    ++milestones_done_;
  }
  if (milestones_done_ > done_before) {
    FromScript message;
    message.mutable_reached()->set_step(step);
    send(message);
  }
  if (std::exchange(tells_next_step_, false) && is_usable()) {
    connection_->tell_alive();
  }
}

void ScriptLink::set_replicas(std::span<const pid_t> pids) {
  if (is_usable()) {
    connection_->set_replicas(pids);
  }
}

void ScriptLink::report_resize(const ResizeReport& report) {
  // Read before the replicas are told: a newer order must not seem to be obeyed by this.
  const std::uint64_t order = wanted().order;
  set_replicas(report.pids);
  if (report.pids.empty()) {
    state_.computing = static_cast<std::uint32_t>(report.workers);
  }
  state_.step = report.step;
  FromScript message;
  wire::script::Resized& body = *message.mutable_resized();
  body.set_workers(static_cast<std::uint32_t>(report.workers));
  body.set_pause_us(from_seconds(report.pause_seconds).count());
  body.set_step(report.step);
  body.set_cause(report.cause);
  for (const pid_t pid : report.pids) {
    body.add_pids(pid);
  }
  body.set_is_forced(report.is_forced);
  body.set_order(order);
  send(message);
  tells_next_step_ = true;
}

void ScriptLink::report_profile(const ProfileReport& report) {
  FromScript message;
  wire::script::Profile& body = *message.mutable_profile();
  body.set_workers(static_cast<std::uint32_t>(report.workers));
  body.set_steps(report.steps);
  body.set_total_seconds(report.seconds);
  send(message);
}

void ScriptLink::tell_notice(const std::string& key, const std::string& text) {
  FromScript message;
  message.mutable_notice()->set_key(key);
  message.mutable_notice()->set_text(text);
  send(message);
}

void ScriptLink::report_metrics(std::span<const MetricReport> points) {
  FromScript message;
  for (const MetricReport& point : points) {
    wire::script::MetricPoint& added = *message.mutable_metrics()->add_points();
    added.set_name(point.name);
    added.set_value(point.value);
    added.set_step(point.step);
  }
  if (!points.empty()) {
    send(message);
  }
}

void ScriptLink::report_memory(const MemoryReport& report) {
  FromScript message;
  wire::script::Memory& body = *message.mutable_memory();
  body.set_worker_bytes(report.worker_bytes);
  body.set_limit_bytes(report.limit_bytes);
  body.set_batch(report.batch);
  body.set_workers(static_cast<std::uint32_t>(report.workers));
  body.set_pieces(static_cast<std::uint32_t>(report.pieces));
  body.set_piece_rows(report.piece_rows);
  send(message);
}

void ScriptLink::set_plan(std::uint64_t steps, std::uint64_t steps_per_epoch) {
  steps_per_epoch_ = steps_per_epoch;
  FromScript message;
  message.mutable_plan()->set_steps(steps);
  message.mutable_plan()->set_steps_per_epoch(steps_per_epoch);
  send(message);
}

Status ScriptLink::write_snapshot(std::uint64_t step, std::span<const std::byte> state) {
  return is_usable() ? connection_->write_snapshot(step, state) : ok_status();
}

void ScriptLink::report_suspended(std::uint64_t step) {
  FromScript message;
  message.mutable_suspended()->set_step(step);
  send(message);
}

bool ScriptLink::wait_resume() { return !is_usable() || connection_->wait_resume(); }

void ScriptLink::report_finished(const FinishReport& report) {
  state_.step = report.step;
  FromScript message;
  message.mutable_finished()->set_step(report.step);
  message.mutable_finished()->set_parameter_hash(report.parameter_hash);
  message.mutable_finished()->set_loss(report.loss);
  send(message);
}

std::vector<int> ScriptLink::descriptors() const {
  return is_usable() ? connection_->descriptors() : std::vector<int>{};
}

pid_t ScriptLink::thread_id() const { return is_usable() ? connection_->thread_id() : 0; }

void ScriptLink::close() {
  if (is_usable()) {
    connection_.reset();
  }
}

Status ScriptLink::after_fork() {
  if (connection_ != nullptr) {
    // Leaked on purpose: its locks may be held by the thread that only the old process had.
    ScriptConnection* const left = connection_.release();
    left->abandon_in_copy();
  }
  owner_ = ::getpid();
  state_.computing = 1;
  state_.wants_suspend = false;
  tells_next_step_ = true;
  return open();
}

}  // namespace rubato::runtime::script
