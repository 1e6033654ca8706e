// From what is wanted to what agents are told.
#include <algorithm>

#include <fmt/core.h>

#include "rubato/live/controller/controller.h"
#include "rubato/wire/timestamp.h"

namespace rubato {

SlotSet Controller::slot_set(
    const google::protobuf::RepeatedPtrField<wire::SlotName>& names) const {
  SlotSet slots;
  if (names.empty()) {
    return slots;
  }
  std::map<std::string_view, std::size_t> nodes;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes.emplace(nodes_[i].node.name, i);
  }
  for (const wire::SlotName& name : names) {
    if (const auto found = nodes.find(name.node()); found != nodes.end()) {
      slots.insert({.node = NodeId{found->second}, .index = name.index()});
    }
  }
  return slots;
}

// Orders for all whose slots changed and need not wait for others.
void Controller::settle() {
  settle_refusals();
  for (const JobId id : slots_.waiting()) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || is_over(found->second.state)) {
      continue;
    }
    count_use(found->second);
    if (const auto slots = slots_.order(id)) {
      send_run(found->second, *slots);
    }
  }
}

void Controller::send_run(LiveJob& job, const SlotSet& slots) {
  ++job.order;
  wire::ToAgent message;
  wire::JobOrder& order = *message.mutable_run();
  order.set_job(std::to_string(job.id.value));
  order.set_order(job.order);
  *order.mutable_spec() = job.spec;
  order.set_measure(job.state == LiveState::Profiling);
  order.set_decided_us(job.decided.time_since_epoch().count());
  for (const SlotRef& slot : slots) {
    wire::SlotName& name = *order.add_slots();
    name.set_node(nodes_.at(slot.node.value).node.name);
    name.set_index(slot.index);
  }
  if (!slots.empty()) {
    agents_[job.id] = nodes_.at(slots.begin()->node.value).node.agent;
    job.agents.insert(agents_[job.id]);
  }
  if (job.state != LiveState::Profiling && job.state != LiveState::Recovering) {
    const bool is_new = job.workers == 0;
    job.state = slots.empty() ? LiveState::Suspended
                : is_new      ? LiveState::Starting
                              : LiveState::Resizing;
  }
  if (slots.empty()) {
    tell("job.suspended", job, fmt::format("job {}: {}", job.id.value, cause_.text));
  } else {
    tell("job.resized", job,
         fmt::format("job {} gets {} workers: {}", job.id.value, slots.size(), cause_.text))
        .set_workers(static_cast<int>(slots.size()));
  }
  effects_.orders.push_back({.agent = agent_of(job), .message = std::move(message)});
}

// Jobs that never ran need no order, but slots may be under way to them.
void Controller::send_stop(LiveJob& job, const std::string& reason) {
  if (job.order == 0) {
    slots_.forget(job.id);
    return;
  }
  ++job.order;
  wire::ToAgent message;
  message.mutable_stop()->set_job(std::to_string(job.id.value));
  message.mutable_stop()->set_order(job.order);
  message.mutable_stop()->set_reason(reason);
  effects_.orders.push_back({.agent = agent_of(job), .message = std::move(message)});
}

std::string Controller::agent_of(const LiveJob& job) const {
  const auto found = agents_.find(job.id);
  return found == agents_.end() ? std::string{} : found->second;
}

// An agent came back: it gets again what it lacks, and is rid of what is over.
void Controller::reconcile(const wire::AgentHello& hello) {
  std::map<JobId, const wire::AgentJob*> there;
  for (const wire::AgentJob& job : hello.jobs()) {
    const JobId id = job_id_of(job.job());
    there[id] = &job;
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || is_over(found->second.state)) {
      wire::ToAgent message;
      message.mutable_stop()->set_job(job.job());
      message.mutable_stop()->set_order(job.order() + 1);
      message.mutable_stop()->set_reason("it is over");
      effects_.orders.push_back({.agent = hello.agent(), .message = std::move(message)});
    } else {
      count_use(found->second);
      slots_.claim(found->first, slot_set(job.slots()));
      slots_.hold(found->first, slot_set(job.slots()));
      if (agent_of(found->second) != hello.agent()) {
        suspend_there(found->second, hello.agent());
      }
    }
  }
  for (auto& [id, job] : jobs_) {
    if (job.order == 0 || agent_of(job) != hello.agent()) {
      if (!there.contains(id)) {
        let_go(job, hello.agent());
      }
      continue;
    }
    const auto known = there.find(id);
    if (is_over(job.state)) {
      if (known == there.end()) {
        slots_.forget(id);
      }
      continue;
    }
    if (known == there.end() || known->second->order() < job.order) {
      if (known == there.end()) {
        set_training(job, 0);
        slots_.hold(id, {});
      }
      // What is suspended and not there is as it should be.
      if (known != there.end() || !slots_.ordered(id).empty()) {
        repeat_order(job);
      }
    }
  }
}

// The last order once more, with its own number.
void Controller::repeat_order(LiveJob& job) {
  --job.order;
  send_run(job, slots_.ordered(job.id));
}

// Ends a copy that went on where nobody was heard of while the job was given to another agent. Its
// number is that of the last order, which the copy has not seen.
void Controller::suspend_there(const LiveJob& job, const std::string& agent) {
  wire::ToAgent message;
  wire::JobOrder& order = *message.mutable_run();
  order.set_job(std::to_string(job.id.value));
  order.set_order(job.order);
  *order.mutable_spec() = job.spec;
  effects_.orders.push_back({.agent = agent, .message = std::move(message)});
}

wire::EventRecord& Controller::tell(std::string_view type, std::string message) {
  wire::EventRecord& event = effects_.events.emplace_back();
  event.set_sequence(next_event_++);
  *event.mutable_at() = to_timestamp(now_).value_or(google::protobuf::Timestamp{});
  event.set_type(std::string(type));
  event.set_message(std::move(message));
  return event;
}

wire::EventRecord& Controller::tell(std::string_view type, const LiveJob& job,
                                    std::string message) {
  wire::EventRecord& event = tell(type, std::move(message));
  event.set_job(std::to_string(job.id.value));
  event.set_user(job.user);
  event.set_workers(job.share);
  return event;
}

void Controller::count_use(LiveJob& job) {
  const auto slots = slots_.owned(job.id).size();
  const Duration since = now_ - job.used_until;
  job.gpu_seconds += to_seconds(since) * static_cast<double>(slots);
  job.ran += slots > 0 ? since : Duration{};
  job.used_until = now_;
}

// No job trains with more workers than it has slots.
void Controller::set_training(LiveJob& job, int said) {
  count_use(job);
  const int workers = std::min(said, static_cast<int>(slots_.owned(job.id).size()));
  training_ += workers - job.workers;
  job.workers = workers;
}

void Controller::finish(LiveJob& job, LiveState state, std::string_view event,
                        const std::string& message) {
  set_training(job, 0);
  job.state = state;
  job.message = message;
  job.end.at = now_;
  limited_.erase(job.id);
  job.share = 0;
  count_promise(job);
  if (job.has_promise() && state == LiveState::Succeeded) {
    const double quoted = to_seconds(job.promise.quoted_finish - job.submitted);
    if (job.promise.is_simulated && quoted > 0) {
      quote_record_.add(std::abs(to_seconds(now_ - job.promise.quoted_finish)) / quoted);
    }
    if (now_ > job.promise.promised) {
      tell("job.deadline_missed", job, message);
    }
  }
  tell(event, job, message);
}

}  // namespace rubato
