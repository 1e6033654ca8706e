#include <chrono>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "rubato/base/parse.h"
#include "rubato/live/rest/rest_functions.h"

namespace rubato {
namespace {

constexpr std::chrono::seconds kHeartbeat{15};
constexpr int kEventsPerPart = 256;
constexpr std::uint64_t kSequenceMax = std::numeric_limits<std::int64_t>::max();

// Events after a sequence number as server-sent events, from then on for ever.
class EventStream final : public HttpStream {
 public:
  EventStream(Platform& platform, Caller caller, std::uint64_t sequence)
      : platform_(platform), caller_(std::move(caller)), sequence_(sequence) {}
  ~EventStream() override {
    if (is_subscribed_) {
      platform_.unsubscribe(subscription_);
    }
  }
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  void open(std::function<void()> wake) override {
    subscription_ = platform_.subscribe(std::move(wake));
    is_subscribed_ = true;
  }

  Part next(bool is_quiet) override {
    Part part;
    const wire::EventList list = platform_.events(caller_, sequence_, kEventsPerPart);
    for (const auto& event : list.events()) {
      const auto data = to_json(event);
      if (!data) {
        return {.bytes = {}, .going = Going::Broken};
      }
      sequence_ = event.sequence();
      part.bytes +=
          fmt::format("id: {}\nevent: {}\ndata: {}\n\n", sequence_, one_line(event.type()), *data);
    }
    if (part.bytes.empty() && (is_quiet || is_first_)) {
      part.bytes = ": nothing new\n\n";
    }
    is_first_ = false;
    return part;
  }

  [[nodiscard]] std::chrono::milliseconds pause() const override { return kHeartbeat; }

 private:
  static std::string one_line(std::string text) {
    std::erase_if(text, [](char character) { return character == '\n' || character == '\r'; });
    return text;
  }

  Platform& platform_;
  Caller caller_;
  std::uint64_t sequence_;
  std::uint64_t subscription_ = 0;
  bool is_subscribed_ = false;
  bool is_first_ = true;
};

// Where the client wants to go on: browsers that reconnect say it in a header.
Answered<std::uint64_t> first_sequence(const RestCall& call) {
  const std::string_view last = call.request.header("last-event-id");
  if (last.empty()) {
    return query_count(call, "since", 0, kSequenceMax);
  }
  const auto number = parse_int(last);
  if (!number || *number < 0) {
    return Refusal{.message = "Last-Event-ID: expected the id of an event"};
  }
  return static_cast<std::uint64_t>(*number);
}

}  // namespace

HttpReply rest_events(const RestContext& context, const RestCall& call) {
  const bool is_stream =
      call.request.header("accept").find("text/event-stream") != std::string_view::npos;
  const auto since = is_stream ? first_sequence(call) : query_count(call, "since", 0, kSequenceMax);
  const auto limit = query_count(call, "limit", 1000, kEventsMax);
  for (const auto* const number : {&since, &limit}) {
    if (const auto* const refusal = std::get_if<Refusal>(number)) {
      return problem_reply(*refusal);
    }
  }
  const auto sequence = std::get<std::uint64_t>(since);
  if (!is_stream) {
    return json_reply(context.platform.events(call.caller, sequence,
                                              static_cast<int>(std::get<std::uint64_t>(limit))));
  }
  HttpReply reply;
  reply.content_type = "text/event-stream";
  reply.stream = std::make_unique<EventStream>(context.platform, call.caller, sequence);
  return reply;
}

}  // namespace rubato
