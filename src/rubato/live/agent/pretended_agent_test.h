// A machine in pretended time, and what it says of its jobs.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rubato/core/ids.h"
#include "rubato/live/service/pretended_job_test.h"
#include "rubato/wire/journal.pb.h"

namespace rubato {

/// One pretended machine with one node, named after it.
struct PretendedAgent {
  int slots = 0;
  bool is_cut = false;   // Nothing passes in either direction; its jobs train on.
  bool is_lost = false;  // As the controller was told.
  Instant cut_at{};
  std::map<JobId, PretendedJob> jobs{};
  std::map<JobId, std::string> ends{};  // Outcomes that the controller may not have heard of.
  std::vector<std::pair<Instant, wire::ToAgent>> mail{};
};

inline void put_slots(const PretendedJob& job,
                      google::protobuf::RepeatedPtrField<wire::SlotName>& to) {
  for (const auto& [node, index] : job.slots) {
    wire::SlotName& slot = *to.Add();
    slot.set_node(node);
    slot.set_index(index);
  }
}

inline wire::JournalInput hello_of(const std::string& name, const PretendedAgent& agent) {
  wire::JournalInput input;
  input.set_agent(name);
  input.mutable_hello()->set_agent(name);
  wire::AgentNode& node = *input.mutable_hello()->add_nodes();
  node.set_name(name);
  for (int i = 0; i < agent.slots; ++i) {
    node.add_slots()->set_index(i);
  }
  for (const auto& [id, job] : agent.jobs) {
    if (job.slots.empty()) {
      continue;
    }
    wire::AgentJob& each = *input.mutable_hello()->add_jobs();
    each.set_job(std::to_string(id.value));
    each.set_order(job.order);
    put_slots(job, *each.mutable_slots());
  }
  return input;
}

inline wire::JournalInput held_of(JobId id, const PretendedJob& job) {
  wire::JournalInput input;
  input.mutable_held()->set_job(std::to_string(id.value));
  input.mutable_held()->set_order(job.order);
  put_slots(job, *input.mutable_held()->mutable_slots());
  return input;
}

inline wire::JournalInput report_of(JobId id, const PretendedJob& job) {
  wire::JournalInput input;
  input.mutable_report()->set_job(std::to_string(id.value));
  input.mutable_report()->set_order(job.order);
  input.mutable_report()->set_done(job.done);
  input.mutable_report()->set_speed(true_speed(static_cast<int>(job.slots.size())));
  input.mutable_report()->set_workers(static_cast<int>(job.slots.size()));
  return input;
}

inline wire::JournalInput ended_of(JobId id, const PretendedJob& job, const std::string& outcome) {
  wire::JournalInput input;
  input.mutable_ended()->set_job(std::to_string(id.value));
  input.mutable_ended()->set_order(job.order);
  input.mutable_ended()->set_outcome(outcome);
  input.mutable_ended()->set_done(job.done);
  return input;
}

}  // namespace rubato
