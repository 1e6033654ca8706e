// What if: the present position, played on elsewhere. The loop only says how things stand.
#include "rubato/live/service/overview.h"
#include "rubato/live/service/service.h"
#include "rubato/wire/what_if_answer.h"

namespace rubato {
namespace {

/// What the loop tells one who asks.
struct AskedPosition {
  LivePosition position{};
  std::set<JobId> hidden{};  // From the caller.
};

}  // namespace

LivePosition Service::position() const {
  LivePosition position{.now = now_, .policy = controller_.policy()};
  for (const NodeRecord& node : controller_.node_records()) {
    if (node.is_up) {
      position.nodes.push_back(node.node);
    }
  }
  position.jobs = controller_.active_jobs();
  for (const Job& job : position.jobs) {
    if (const LiveJob* live = controller_.find(job.id); live->has_promise()) {
      position.promised[job.id] = live->promise.promised;
    }
  }
  return position;
}

Answered<wire::WhatIfReply> Service::what_if(const Caller& caller,
                                             const wire::WhatIfRequest& request) {
  if (caller.role != Role::Admin && !is_scale_alone(request)) {
    return Refusal{.kind = RefusalKind::NotPermitted,
                   .message =
                       "other nodes and policies are for the role admin to ask about; "
                       "a scale of a job is for its tenant too"};
  }
  if (!options_.what_if) {
    return Refusal{.kind = RefusalKind::Unavailable, .message = "this server has no simulator"};
  }
  const auto asked = ask<AskedPosition>([this, caller, request]() -> Answered<AskedPosition> {
    if (request.has_scale()) {
      if (auto problem =
              scaling_problem(caller, request.scale().job(), request.scale().workers())) {
        problem->field = problem->field.empty() ? "scale.job" : "scale." + problem->field;
        return *problem;
      }
    }
    AskedPosition told{.position = position()};
    for (const Job& job : told.position.jobs) {
      if (!may_look(caller, controller_.find(job.id)->spec)) {
        told.hidden.insert(job.id);
      }
    }
    return told;
  });
  if (const auto* refusal = std::get_if<Refusal>(&asked)) {
    return *refusal;
  }
  if (!plays_.enter()) {
    return Refusal{.kind = RefusalKind::Unavailable,
                   .message = "too many such questions are being played on; try again"};
  }
  auto played = options_.what_if(std::get<AskedPosition>(asked).position, request);
  plays_.leave();
  if (auto* reply = std::get_if<wire::WhatIfReply>(&played)) {
    hide_jobs(std::get<AskedPosition>(asked).hidden, *reply);
  }
  return played;
}

}  // namespace rubato
