#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include <fmt/core.h>

#include "rubato/base/parse.h"
#include "rubato/base/utf8.h"
#include "rubato/http/target.h"
#include "rubato/live/rest/rest_functions.h"

namespace rubato {
namespace {

constexpr std::size_t kKeyBytesMax = 255;

std::string query_text(const RestCall& call, const std::string& name) {
  const auto found = call.query.find(name);
  return found == call.query.end() ? std::string{} : found->second;
}

// Numbers of jobs between commas, falling and each once.
Answered<std::vector<std::uint64_t>> query_ids(const RestCall& call) {
  std::vector<std::uint64_t> ids;
  std::istringstream text(query_text(call, "ids"));
  for (std::string each; std::getline(text, each, ',');) {
    const auto id = parse_int(each);
    if (!id || *id < 1 || ids.size() == kPageSizeMax) {
      return Refusal{
          .message = fmt::format("ids: expected up to {} numbers of jobs, such as 3,17, found '{}'",
                                 kPageSizeMax, each),
          .field = "ids"};
    }
    ids.push_back(static_cast<std::uint64_t>(*id));
  }
  std::ranges::sort(ids, std::greater{});
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

HttpReply rest_submit(const RestContext& context, const RestCall& call) {
  const std::string key(call.request.header("idempotency-key"));
  if (key.size() > kKeyBytesMax || !is_plain_text(key)) {
    return problem_reply(
        Refusal{.message = "Idempotency-Key: expected plain text of at most 255 bytes"});
  }
  return with_body<wire::JobSpec>(call, [&](const wire::JobSpec& spec) {
    const auto answer = context.platform.submit(call.caller, spec, key);
    HttpReply reply = reply_of(answer);
    if (const auto* const submitted = std::get_if<wire::SubmitReply>(&answer);
        submitted != nullptr && reply.status == 200) {
      reply.status = 201;
      reply.headers.emplace_back("Location", "/v1/jobs/" + escaped_segment(submitted->job().id()));
    }
    return reply;
  });
}

HttpReply rest_quote(const RestContext& context, const RestCall& call) {
  return with_body<wire::JobSpec>(call, [&](const wire::JobSpec& spec) {
    return reply_of(context.platform.quote(call.caller, spec));
  });
}

HttpReply rest_jobs(const RestContext& context, const RestCall& call) {
  JobQuery query{.state = query_text(call, "state"),
                 .tenant = query_text(call, "tenant"),
                 .page_token = query_text(call, "page_token")};
  auto ids = query_ids(call);
  if (const auto* const refusal = std::get_if<Refusal>(&ids)) {
    return problem_reply(*refusal);
  }
  query.ids = std::get<std::vector<std::uint64_t>>(std::move(ids));
  const auto size = query_count(call, "page_size", 100, kPageSizeMax);
  if (const auto* const refusal = std::get_if<Refusal>(&size)) {
    return problem_reply(*refusal);
  }
  query.page_size = static_cast<int>(std::get<std::uint64_t>(size));
  if (query.page_size == 0) {
    return problem_reply(
        Refusal{.message = "page_size: expected at least 1, found 0", .field = "page_size"});
  }
  return reply_of(context.platform.jobs(call.caller, query));
}

HttpReply rest_job(const RestContext& context, const RestCall& call) {
  return reply_of(context.platform.job(call.caller, call.arguments[0]));
}

HttpReply rest_cancel(const RestContext& context, const RestCall& call) {
  return reply_of(context.platform.cancel(call.caller, call.arguments[0]));
}

HttpReply rest_scale(const RestContext& context, const RestCall& call) {
  return with_body<wire::ScaleRequest>(call, [&](const wire::ScaleRequest& request) {
    return reply_of(context.platform.scale(call.caller, call.arguments[0], request));
  });
}

HttpReply rest_why(const RestContext& context, const RestCall& call) {
  return reply_of(context.platform.why(call.caller, call.arguments[0]));
}

HttpReply rest_blame(const RestContext& context, const RestCall& call) {
  return reply_of(context.platform.blame(call.caller, call.arguments[0]));
}

}  // namespace rubato
