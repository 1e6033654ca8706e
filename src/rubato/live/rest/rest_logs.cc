#include <chrono>
#include <limits>
#include <utility>

#include "rubato/live/rest/rest_functions.h"

namespace rubato {
namespace {

constexpr std::chrono::milliseconds kLogPause{200};

// A job's log from a byte on, until the job is over.
class LogStream final : public HttpStream {
 public:
  LogStream(Platform& platform, Caller caller, std::string job, Platform::LogPart first)
      : platform_(platform),
        caller_(std::move(caller)),
        job_(std::move(job)),
        part_(std::move(first)) {}

  void open(std::function<void()> /*wake*/) override {}

  Part next(bool /*is_quiet*/) override {
    if (!is_first_) {
      auto answer = platform_.logs(caller_, job_, part_.next);
      if (std::holds_alternative<Refusal>(answer)) {
        return {.bytes = {}, .going = Going::Broken};
      }
      part_ = std::get<Platform::LogPart>(std::move(answer));
    }
    is_first_ = false;
    return {.bytes = std::move(part_.text), .going = part_.is_over ? Going::Over : Going::On};
  }

  [[nodiscard]] std::chrono::milliseconds pause() const override { return kLogPause; }

 private:
  Platform& platform_;
  Caller caller_;
  std::string job_;
  Platform::LogPart part_;
  bool is_first_ = true;
};

}  // namespace

HttpReply rest_logs(const RestContext& context, const RestCall& call) {
  const auto from = query_count(call, "from", 0, std::numeric_limits<std::int64_t>::max());
  const auto follow = query_count(call, "follow", 0, 1);
  for (const auto* const number : {&from, &follow}) {
    if (const auto* const refusal = std::get_if<Refusal>(number)) {
      return problem_reply(*refusal);
    }
  }
  auto answer =
      context.platform.logs(call.caller, call.arguments[0], std::get<std::uint64_t>(from));
  if (const auto* const refusal = std::get_if<Refusal>(&answer)) {
    return problem_reply(*refusal);
  }
  auto& part = std::get<Platform::LogPart>(answer);
  HttpReply reply;
  reply.content_type = "text/plain; charset=utf-8";
  if (std::get<std::uint64_t>(follow) == 1) {
    reply.stream = std::make_unique<LogStream>(context.platform, call.caller, call.arguments[0],
                                               std::move(part));
    return reply;
  }
  reply.headers.emplace_back("Rubato-Log-Next", std::to_string(part.next));
  reply.headers.emplace_back("Rubato-Log-Over", part.is_over ? "true" : "false");
  reply.body = std::move(part.text);
  return reply;
}

}  // namespace rubato
