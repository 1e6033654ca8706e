// The past and the future of the platform: none of it runs on the loop but a look at the present.
#include <algorithm>
#include <set>

#include "rubato/live/service/overview.h"
#include "rubato/live/service/service.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

constexpr Duration kFutureKept = std::chrono::seconds(2);
constexpr int kJobEventsMax = 500;

Refusal unreadable(const Error& error) {
  return {.kind = RefusalKind::Unavailable, .message = error.message};
}

void put_if_known(google::protobuf::Timestamp* (wire::JobBrief::*field)(), wire::JobBrief& to,
                  Instant moment) {
  if (const auto known = to_timestamp(moment)) {
    *(to.*field)() = *known;
  }
}

wire::JobBrief brief_of(const Controller& controller, const LiveJob& job, Instant now) {
  wire::JobBrief brief;
  brief.set_id(std::to_string(job.id.value));
  brief.set_name(job.spec.name());
  brief.set_tenant(job.spec.tenant());
  brief.set_class_(std::string(to_string(job.job_class)));
  brief.set_state(controller.status(now, job).state());
  put_if_known(&wire::JobBrief::mutable_submitted, brief, job.submitted);
  put_if_known(&wire::JobBrief::mutable_finished, brief, job.end.at);
  put_if_known(&wire::JobBrief::mutable_deadline, brief, job.deadline);
  put_if_known(&wire::JobBrief::mutable_promised, brief, job.promise.promised);
  return brief;
}

// Events about jobs of others are none of the caller's business.
void keep_visible(const Controller& controller, const Caller& caller,
                  wire::DecisionRecord& decision) {
  auto& events = *decision.mutable_events();
  const auto is_foreign = [&](const wire::EventRecord& event) {
    const LiveJob* job = event.job().empty() ? nullptr : controller.find(job_id_of(event.job()));
    return job != nullptr && !may_look(caller, job->spec);
  };
  const bool is_all = caller.role == Role::Admin || caller.tenant.empty();
  if (!is_all) {
    events.erase(std::remove_if(events.begin(), events.end(), is_foreign), events.end());
    decision.clear_commands();
    if (decision.events().empty()) {
      decision.clear_input();
    }
  }
}

void put_span(const PastMoment& moment, wire::PastReply& reply) {
  reply.set_sequence(moment.sequence);
  *reply.mutable_at() = to_timestamp(moment.at).value_or(google::protobuf::Timestamp{});
  *reply.mutable_first() = to_timestamp(moment.first).value_or(google::protobuf::Timestamp{});
  *reply.mutable_last() = to_timestamp(moment.last).value_or(google::protobuf::Timestamp{});
}

void put_state(const PastMoment& moment, const Caller& caller, wire::PastReply& reply) {
  put_span(moment, reply);
  *reply.mutable_overview() = overview_of(moment.controller, moment.at, caller);
  for (const auto& [id, job] : moment.controller.jobs()) {
    if (!is_over(job.state) && may_look(caller, job.spec)) {
      *reply.add_jobs() = moment.controller.status(moment.at, job);
    }
  }
  *reply.mutable_nodes() = moment.controller.nodes().nodes();
}

}  // namespace

Answered<wire::OverviewReply> Service::overview(const Caller& caller) {
  return ask<wire::OverviewReply>([this, caller]() -> Answered<wire::OverviewReply> {
    return overview_of(controller_, now_, caller);
  });
}

Answered<wire::TimelineReply> Service::timeline(const Caller& caller, const TimeSpan& span) {
  wire::TimelineReply reply;
  const Status looked = past_.look([&](const PastRecord& record, const PastMoment& moment) {
    reply = record.timeline(span);
    std::set<JobId> named;
    for (const wire::SlotUse& use : reply.uses()) {
      named.insert(job_id_of(use.job()));
    }
    for (const JobId id : named) {
      const LiveJob* job = moment.controller.find(id);
      if (job != nullptr && may_look(caller, job->spec)) {
        *reply.add_jobs() = brief_of(moment.controller, *job, moment.at);
      }
    }
    const Instant from = std::max(span.from, moment.first);
    const Instant to = span.to == kNever ? clock_.now() : span.to;
    *reply.mutable_from() = to_timestamp(from).value_or(google::protobuf::Timestamp{});
    *reply.mutable_to() = to_timestamp(to).value_or(google::protobuf::Timestamp{});
  });
  if (!looked) {
    return unreadable(looked.error());
  }
  return reply;
}

Answered<wire::FutureReply> Service::future(const Caller& /*caller*/) {
  if (!options_.what_if) {
    return Refusal{.kind = RefusalKind::Unavailable, .message = "this server has no simulator"};
  }
  const std::lock_guard lock(future_mutex_);
  if (future_at_ == Instant{} || clock_.now() - future_at_ > kFutureKept) {
    const auto position =
        ask<LivePosition>([this]() -> Answered<LivePosition> { return this->position(); });
    if (const auto* refusal = std::get_if<Refusal>(&position)) {
      return *refusal;
    }
    const auto played = options_.what_if(std::get<LivePosition>(position), {});
    if (const auto* refusal = std::get_if<Refusal>(&played)) {
      return *refusal;
    }
    future_at_ = std::get<LivePosition>(position).now;
    future_.Clear();
    *future_.mutable_at() = to_timestamp(future_at_).value_or(google::protobuf::Timestamp{});
    for (const wire::WhatIfJob& each : std::get<wire::WhatIfReply>(played).jobs()) {
      wire::FutureJob& job = *future_.add_jobs();
      job.set_job(each.job());
      *job.mutable_shares() = each.shares_now();
      if (each.has_finish_now()) {
        *job.mutable_finish() = each.finish_now();
      }
    }
  }
  return future_;
}

Answered<wire::PastReply> Service::past(const Caller& caller, Instant moment) {
  wire::PastReply reply;
  const auto show = [&](const PastMoment& at) { put_state(at, caller, reply); };
  Status looked = ok_status();
  if (moment == kNever) {
    looked = past_.look([&](const PastRecord& /*record*/, const PastMoment& last) { show(last); });
  } else {
    looked = past_.look_at(moment, show);
  }
  if (looked) {
    looked = past_.look([&](const PastRecord& record, const PastMoment& last) {
      if (const auto* decision = record.decision_until(moment)) {
        *reply.mutable_decision() = *decision;
        keep_visible(last.controller, caller, *reply.mutable_decision());
      }
    });
  }
  if (!looked) {
    return unreadable(looked.error());
  }
  return reply;
}

Answered<wire::DecisionList> Service::decisions(const Caller& caller, const TimeSpan& span,
                                                int limit) {
  wire::DecisionList list;
  const Status looked = past_.look([&](const PastRecord& record, const PastMoment& last) {
    list = record.decisions(span, static_cast<std::size_t>(std::max(limit, 0)));
    for (wire::DecisionRecord& decision : *list.mutable_decisions()) {
      keep_visible(last.controller, caller, decision);
    }
  });
  if (!looked) {
    return unreadable(looked.error());
  }
  return list;
}

Answered<wire::JobHistory> Service::job_history(const Caller& caller, const std::string& id) {
  const auto found = job(caller, id);
  if (const auto* refusal = std::get_if<Refusal>(&found)) {
    return *refusal;
  }
  wire::JobHistory history;
  const Status looked = past_.look([&](const PastRecord& record, const PastMoment& last) {
    history = record.job(job_id_of(id));
    if (const LiveJob* known = last.controller.find(job_id_of(id))) {
      history.mutable_speeds()->Assign(known->speeds.begin(), known->speeds.end());
    }
  });
  if (!looked) {
    return unreadable(looked.error());
  }
  const auto events = store_.history().events_of(id, 0, kJobEventsMax);
  if (!events) {
    return unreadable(events.error());
  }
  history.mutable_events()->Assign(events->begin(), events->end());
  return history;
}

}  // namespace rubato
