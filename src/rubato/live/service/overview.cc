#include "rubato/live/service/overview.h"

#include <map>
#include <string>

#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

// What the promise of a job that has one came to.
void count_promise(const LiveJob& job, Instant now, wire::OverviewReply& reply) {
  const bool is_late =
      is_over(job.state) ? job.end.at > job.promise.promised : now > job.promise.promised;
  if (is_late) {
    reply.set_promises_broken(reply.promises_broken() + 1);
  } else if (job.state == LiveState::Succeeded) {
    reply.set_promises_kept(reply.promises_kept() + 1);
  } else if (!is_over(job.state)) {
    reply.set_promises_open(reply.promises_open() + 1);
    reply.set_at_risk(reply.at_risk() + (job.promise.is_at_risk ? 1 : 0));
  }
}

}  // namespace

bool may_look(const Caller& caller, const wire::JobSpec& spec) {
  return caller.role == Role::Admin || caller.tenant.empty() || caller.tenant == spec.tenant();
}

wire::OverviewReply overview_of(const Controller& controller, Instant now, const Caller& caller) {
  wire::OverviewReply reply;
  if (const auto at = to_timestamp(now)) {
    *reply.mutable_at() = *at;
  }
  reply.set_policy(controller.policy());
  std::map<std::string_view, int> states;
  for (const auto& [id, job] : controller.jobs()) {
    if (!may_look(caller, job.spec)) {
      continue;
    }
    const bool is_admitted = job.state == LiveState::Pending && job.has_promise();
    ++states[is_admitted ? std::string_view("ADMITTED") : to_string(job.state)];
    if (job.has_promise()) {
      count_promise(job, now, reply);
    }
  }
  for (const auto& [state, jobs] : states) {
    wire::StateCount& count = *reply.add_states();
    count.set_state(std::string(state));
    count.set_jobs(jobs);
  }
  const wire::NodeList nodes = controller.nodes();
  for (const wire::NodeStatus& node : nodes.nodes()) {
    reply.set_nodes(reply.nodes() + 1);
    reply.set_nodes_up(reply.nodes_up() + (node.up() ? 1 : 0));
    reply.set_gpus(reply.gpus() + (node.up() ? node.slots() : 0));
    reply.set_gpus_used(reply.gpus_used() + node.slots_used());
  }
  reply.set_gpu_hours_useful(controller.usage().useful / 3600);
  reply.set_gpu_hours_lost(controller.usage().lost / 3600);
  reply.set_gpu_hours_idle(controller.usage().idle / 3600);
  return reply;
}

}  // namespace rubato
