#include "rubato/live/agent/agent_book.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rubato/job/conduct_files.h"

namespace rubato {
namespace {

wire::FromAgent ended_message(const wire::JobEnded& ended) {
  wire::FromAgent message;
  *message.mutable_ended() = ended;
  return message;
}

wire::JobEnded end_of(const std::string& job, std::uint64_t order, const std::string& outcome,
                      const std::string& detail) {
  wire::JobEnded ended;
  ended.set_job(job);
  ended.set_order(order);
  ended.set_outcome(outcome);
  ended.set_cause(outcome);
  ended.set_detail(detail);
  return ended;
}

// Slots that may be in use: those of the last order, and those it had before it obeyed that.
std::vector<wire::SlotName> slots_in_use(const wire::JobOrder& order, const wire::SlotsHeld& held) {
  std::vector<wire::SlotName> slots(order.slots().begin(), order.slots().end());
  if (held.order() == order.order()) {
    return slots;
  }
  for (const wire::SlotName& slot : held.slots()) {
    const bool is_known = std::ranges::any_of(slots, [&](const wire::SlotName& other) {
      return other.node() == slot.node() && other.index() == slot.index();
    });
    if (!is_known) {
      slots.push_back(slot);
    }
  }
  return slots;
}

}  // namespace

void AgentBook::find_running(const wire::ConductOrder& order) {
  Entry& entry = jobs_[order.run().job()];
  entry.order = order;
  entry.seen = order.run().order();
}

void AgentBook::find_ended(const wire::ConductOrder& order, const wire::JobEnded& ended,
                           bool is_forgotten) {
  Entry& entry = jobs_[ended.job()];
  entry.stage = is_forgotten ? JobStage::Forgotten : JobStage::Ended;
  entry.order = order;
  entry.seen = std::max(order.run().order(), ended.order());
  entry.ended = ended;
}

bool AgentBook::is_running(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && found->second.stage == JobStage::Running;
}

const wire::AgentNode* AgentBook::node(const std::string& name) const {
  const auto found = std::ranges::find_if(
      offer_.nodes, [&](const wire::AgentNode& candidate) { return candidate.name() == name; });
  return found == offer_.nodes.end() ? nullptr : &*found;
}

std::string AgentBook::fill_in(const wire::JobOrder& order, wire::ConductOrder& filled) const {
  *filled.mutable_run() = order;
  filled.set_report_us(offer_.report.count());
  filled.set_may_park(offer_.is_alone);
  std::set<std::pair<std::string, int>> seen;
  for (const wire::SlotName& slot : order.slots()) {
    const wire::AgentNode* const where = node(slot.node());
    const std::string name = fmt::format("{}/{}", slot.node(), slot.index());
    if (where == nullptr) {
      return fmt::format("this agent has no node {}", slot.node());
    }
    const auto found = std::ranges::find_if(where->slots(), [&](const wire::AgentSlot& candidate) {
      return candidate.index() == slot.index();
    });
    if (found == where->slots().end()) {
      return fmt::format("this agent has no slot {}", name);
    }
    if (!seen.emplace(slot.node(), slot.index()).second) {
      return fmt::format("slot {} is named twice", name);
    }
    if (where->emulated() && order.spec().kind() != "emulated") {
      return fmt::format("node {} is emulated: only jobs of kind emulated run there", slot.node());
    }
    filled.add_devices(found->device());
    filled.set_emulated(where->emulated());
    if (!where->emulated()) {
      filled.set_threads(std::max(1, offer_.cpus / std::max(1, where->slots_size())));
    }
  }
  return "";
}

AgentActions AgentBook::take(const wire::ToAgent& message) {
  if ((message.has_run() && message.run().order() == 0) ||
      (message.has_stop() && message.stop().order() == 0)) {
    return {};  // Numbers begin at one.
  }
  switch (message.kind_case()) {
    case wire::ToAgent::kRun:
      return run(message.run());
    case wire::ToAgent::kStop:
      return stop(message.stop());
    case wire::ToAgent::kForget:
      return forget(message.forget().job());
    default:
      return {};
  }
}

AgentActions AgentBook::run(const wire::JobOrder& order) {
  Entry& entry = jobs_[order.job()];
  const bool is_new = entry.seen == 0;
  if (order.order() <= entry.seen) {
    return {};
  }
  const bool is_running = !is_new && entry.stage == JobStage::Running;
  if (!is_new && !is_running && !can_go_on(entry.ended)) {
    return {TellController{.message = ended_message(entry.ended)}};
  }
  wire::ConductOrder filled;
  const std::string problem = fill_in(order, filled);
  if (!problem.empty()) {
    if (is_running) {
      return {};  // It goes on as it is; the controller will hear our hello and know better.
    }
    return end(entry, end_of(order.job(), order.order(), "refused", problem), false);
  }
  entry.seen = order.order();
  if (!is_running && order.slots().empty()) {
    wire::JobEnded ended = end_of(order.job(), order.order(), "suspended", "");
    ended.set_done(entry.ended.done());
    return end(entry, std::move(ended), false);
  }
  entry.order = filled;
  if (is_running) {
    wire::ToConduct message;
    *message.mutable_run() = filled;
    return {KeepConductOrder{.order = filled},
            TellConduct{.job = order.job(), .message = std::move(message)}};
  }
  entry.stage = JobStage::Running;
  entry.stop.reset();
  entry.report = {};
  entry.held = {};
  return {KeepConductOrder{.order = std::move(filled)}, StartConduct{.job = order.job()}};
}

AgentActions AgentBook::stop(const wire::StopOrder& order) {
  Entry& entry = jobs_[order.job()];
  const bool is_new = entry.seen == 0;
  if (order.order() <= entry.seen) {
    return {};
  }
  const bool is_running = !is_new && entry.stage == JobStage::Running;
  if (is_running) {
    entry.seen = order.order();
    entry.stop = order;
    wire::ToConduct message;
    *message.mutable_stop() = order;
    return {TellConduct{.job = order.job(), .message = std::move(message)}};
  }
  if (!is_new && !can_go_on(entry.ended)) {
    return {TellController{.message = ended_message(entry.ended)}};
  }
  wire::JobEnded ended = end_of(order.job(), order.order(), "cancelled", order.reason());
  ended.set_done(entry.ended.done());
  return end(entry, std::move(ended), !is_new);
}

// `is_kept`: the job has a directory in which its end must be written down.
AgentActions AgentBook::end(Entry& entry, wire::JobEnded ended, bool is_kept) {
  entry.stage = JobStage::Ended;
  entry.seen = std::max(entry.seen, ended.order());
  entry.ended = std::move(ended);
  AgentActions actions;
  if (is_kept) {
    actions.emplace_back(KeepJobEnd{.ended = entry.ended});
  }
  actions.emplace_back(TellController{.message = ended_message(entry.ended)});
  return actions;
}

AgentActions AgentBook::forget(const std::string& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || found->second.stage != JobStage::Ended) {
    return {};
  }
  found->second.stage = JobStage::Forgotten;
  return {ForgetJob{.job = job, .keeps_state = can_go_on(found->second.ended)}};
}

AgentActions AgentBook::on_connected(const std::string& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) {
    return {};
  }
  AgentActions actions;
  wire::ToConduct message;
  *message.mutable_run() = found->second.order;
  actions.emplace_back(TellConduct{.job = job, .message = message});
  if (found->second.stop) {
    *message.mutable_stop() = *found->second.stop;
    actions.emplace_back(TellConduct{.job = job, .message = std::move(message)});
  }
  return actions;
}

AgentActions AgentBook::on_word(const std::string& job, const wire::FromAgent& word) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || found->second.stage != JobStage::Running) {
    return {};
  }
  if (word.has_report()) {
    found->second.report = word.report();
  } else if (word.has_held()) {
    found->second.held = word.held();
  } else if (!word.has_metrics()) {
    return {};
  }
  return {TellController{.message = word}};
}

AgentActions AgentBook::on_ended(const wire::JobEnded& ended) {
  const auto found = jobs_.find(ended.job());
  if (found == jobs_.end() || found->second.stage != JobStage::Running) {
    return {};
  }
  Entry& entry = found->second;
  wire::JobEnded known = ended;
  if (entry.stop && entry.stop->order() > ended.order() && can_go_on(ended)) {
    // It was gone before it could be told.
    known = end_of(ended.job(), entry.stop->order(), "cancelled", entry.stop->reason());
    known.set_done(ended.done());
    return end(entry, std::move(known), true);
  }
  const bool was_called_back = ended.outcome() == "suspended" && !entry.stop &&
                               entry.order.run().order() > ended.order() &&
                               entry.order.run().slots_size() > 0;
  if (was_called_back) {
    return {StartConduct{.job = ended.job()}};
  }
  known.set_order(std::max(ended.order(), entry.seen));
  return end(entry, std::move(known), false);
}

AgentActions AgentBook::hello() const {
  wire::FromAgent message;
  wire::AgentHello& hello = *message.mutable_hello();
  hello.set_agent(offer_.name);
  for (const wire::AgentNode& offered : offer_.nodes) {
    *hello.add_nodes() = offered;
  }
  AgentActions more;
  for (const auto& [id, entry] : jobs_) {
    if (entry.stage != JobStage::Running) {
      continue;
    }
    wire::AgentJob& job = *hello.add_jobs();
    job.set_job(id);
    job.set_order(entry.seen);
    job.set_done(entry.report.done());
    for (const wire::SlotName& slot : slots_in_use(entry.order.run(), entry.held)) {
      *job.add_slots() = slot;
    }
    wire::FromAgent word;
    if (!entry.held.job().empty()) {
      *word.mutable_held() = entry.held;
      more.emplace_back(TellController{.message = word});
    }
    if (!entry.report.job().empty()) {
      *word.mutable_report() = entry.report;
      more.emplace_back(TellController{.message = word});
    }
  }
  AgentActions actions{TellController{.message = std::move(message)}};
  actions.insert(actions.end(), more.begin(), more.end());
  for (const auto& [id, entry] : jobs_) {
    if (entry.stage != JobStage::Forgotten) {
      actions.emplace_back(TellMetrics{.job = id});
    }
  }
  const AgentActions ends = resend();
  actions.insert(actions.end(), ends.begin(), ends.end());
  return actions;
}

AgentActions AgentBook::resend() const {
  AgentActions actions;
  for (const auto& [id, entry] : jobs_) {
    if (entry.stage == JobStage::Ended) {
      actions.emplace_back(TellController{.message = ended_message(entry.ended)});
    }
  }
  return actions;
}

}  // namespace rubato
