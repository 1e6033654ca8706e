#include <fmt/core.h>

#include "rubato/live/rest/rest_functions.h"
#include "rubato/spec/deadline_text.h"

namespace rubato {
namespace {

// The moment that the parameter names, or `fallback` without it.
Answered<Instant> query_moment(const RestCall& call, const std::string& name, Instant fallback) {
  const auto found = call.query.find(name);
  if (found == call.query.end()) {
    return fallback;
  }
  const auto moment = parse_rfc3339(found->second);
  if (!moment) {
    return Refusal{.message = fmt::format("{}: {}", name, moment.error().message), .field = name};
  }
  return *moment;
}

Answered<TimeSpan> query_span(const RestCall& call) {
  const auto from = query_moment(call, "from", Instant{});
  const auto to = query_moment(call, "to", kNever);
  for (const auto* const each : {&from, &to}) {
    if (const auto* const refusal = std::get_if<Refusal>(each)) {
      return *refusal;
    }
  }
  return TimeSpan{.from = std::get<Instant>(from), .to = std::get<Instant>(to)};
}

}  // namespace

HttpReply rest_overview(const RestContext& context, const RestCall& call) {
  return reply_of(context.platform.overview(call.caller));
}

HttpReply rest_timeline(const RestContext& context, const RestCall& call) {
  const auto span = query_span(call);
  if (const auto* const refusal = std::get_if<Refusal>(&span)) {
    return problem_reply(*refusal);
  }
  return reply_of(context.platform.timeline(call.caller, std::get<TimeSpan>(span)));
}

HttpReply rest_future(const RestContext& context, const RestCall& call) {
  return reply_of(context.platform.future(call.caller));
}

HttpReply rest_past(const RestContext& context, const RestCall& call) {
  const auto moment = query_moment(call, "at", kNever);
  if (const auto* const refusal = std::get_if<Refusal>(&moment)) {
    return problem_reply(*refusal);
  }
  return reply_of(context.platform.past(call.caller, std::get<Instant>(moment)));
}

HttpReply rest_decisions(const RestContext& context, const RestCall& call) {
  const auto span = query_span(call);
  if (const auto* const refusal = std::get_if<Refusal>(&span)) {
    return problem_reply(*refusal);
  }
  const auto limit = query_count(call, "limit", 1000, kEventsMax);
  if (const auto* const refusal = std::get_if<Refusal>(&limit)) {
    return problem_reply(*refusal);
  }
  return reply_of(context.platform.decisions(call.caller, std::get<TimeSpan>(span),
                                             static_cast<int>(std::get<std::uint64_t>(limit))));
}

HttpReply rest_job_history(const RestContext& context, const RestCall& call) {
  return reply_of(context.platform.job_history(call.caller, call.arguments[0]));
}

}  // namespace rubato
