// What the shadow is told of the real world, and how both did.
#include <algorithm>
#include <chrono>

#include <fmt/core.h>

#include "rubato/live/controller/controller.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

constexpr Duration kShadowRest = std::chrono::seconds(1);  // Between turns when nothing else is up.

// The job as the shadow counts its own.
ShadowJob counted(const LiveJob& job) {
  ShadowJob entry{.submitted = job.submitted, .deadline = job.deadline};
  entry.is_promised = job.has_promise();
  entry.is_refused = job.state == LiveState::Rejected;
  entry.has_left = job.state == LiveState::Cancelled || job.state == LiveState::Failed;
  entry.finish = job.state == LiveState::Succeeded ? job.end.at : kNever;
  return entry;
}

}  // namespace

void Controller::set_shadow(const wire::PolicySet& policy) {
  shadow_.reset();
  const bool ends = policy.policy().empty() || policy.policy() == "none";
  tell("policy.shadow", ends ? fmt::format("{} ended the shadow", policy.user())
                             : fmt::format("{} set the shadow {}", policy.user(), policy.policy()));
  if (ends) {
    return;
  }
  auto engine = make_engine(policy.policy(), nodes_.size());
  if (!engine) {
    tell("alarm", engine.error().message);
    return;
  }
  shadow_nodes_ = nodes_.size();
  usage_at_shadow_ = usage_;
  shadow_.emplace(policy.policy(), *std::move(engine), now_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].is_up) {
      shadow_->change_node(now_, {.node = NodeId{i}, .up = false});
    }
  }
  for (const auto& [id, job] : jobs_) {
    if (!is_over(job.state)) {
      tell_shadow(job);
    }
  }
}

// Jobs of unknown speed are told when it is known: the shadow could make nothing of them.
void Controller::tell_shadow(const LiveJob& job) {
  if (shadow_ && !job.speeds.empty()) {
    shadow_->arrive(now_, job.id, engine_job(job, job.id), job.submitted, job.deadline);
  }
}

void Controller::leave_shadow(const LiveJob& job) {
  if (shadow_) {
    shadow_->leave(now_, job.id);
  }
}

Instant Controller::shadow_wake() const {
  const Instant next = shadow_ ? shadow_->next() : kNever;
  return next == kNever ? kNever : std::max(next, now_ + kShadowRest);
}

wire::PolicyStatus Controller::policy_status() const {
  wire::PolicyStatus status;
  status.set_live(policy_);
  if (!shadow_) {
    return status;
  }
  status.set_shadow(shadow_->policy());
  *status.mutable_since() = to_timestamp(shadow_->since()).value_or(google::protobuf::Timestamp{});
  *status.mutable_shadow_at() =
      to_timestamp(shadow_->now()).value_or(google::protobuf::Timestamp{});
  status.set_shadow_is_lost(shadow_->is_lost());
  PolicyTally live;
  int answers = 0;
  int differ = 0;
  for (const auto& [id, entry] : shadow_->jobs()) {
    const LiveJob& job = jobs_.at(id);
    live.add(counted(job), now_);
    const bool was_asked_by_both = job.submitted >= shadow_->since() && !entry.has_left;
    answers += was_asked_by_both ? 1 : 0;
    differ += was_asked_by_both && entry.is_refused != (job.state == LiveState::Rejected) ? 1 : 0;
  }
  live.gpu_seconds_used = usage_.useful - usage_at_shadow_.useful;
  live.gpu_seconds = live.gpu_seconds_used + usage_.lost - usage_at_shadow_.lost + usage_.idle -
                     usage_at_shadow_.idle;
  status.set_answers(answers);
  status.set_answers_differ(differ);
  *status.mutable_live_result() = live.result();
  *status.mutable_shadow_result() = shadow_->tally().result();
  status.set_live_deadlines_met_ratio(status.live_result().deadlines_met_ratio());
  status.set_shadow_deadlines_met_ratio(status.shadow_result().deadlines_met_ratio());
  return status;
}

}  // namespace rubato
