#include "rubato/cli/client/event_stream.h"

#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace rubato {
namespace {

// One block of lines up to an empty one; comments and unknown fields are passed over.
ServerEvent event_of(std::string_view block) {
  ServerEvent event;
  bool has_data = false;
  while (!block.empty()) {
    const std::size_t end = block.find('\n');
    std::string_view line = block.substr(0, end);
    block.remove_prefix(end == std::string_view::npos ? block.size() : end + 1);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    std::string_view value =
        colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
    if (value.starts_with(' ')) {
      value.remove_prefix(1);
    }
    if (name == "id") {
      event.id = value;
    } else if (name == "event") {
      event.type = value;
    } else if (name == "data") {
      event.data += (has_data ? "\n" : "") + std::string(value);
      has_data = true;
    }
  }
  return event;
}

// The end of the first block and the length of the empty line after it.
std::pair<std::size_t, std::size_t> block_end(std::string_view text) {
  const std::size_t plain = text.find("\n\n");
  const std::size_t windows = text.find("\r\n\r\n");
  return windows < plain ? std::pair{windows, std::size_t{4}} : std::pair{plain, std::size_t{2}};
}

}  // namespace

std::vector<ServerEvent> EventCutter::feed(std::string_view part) {
  rest_ += part;
  std::vector<ServerEvent> events;
  for (auto [end, gap] = block_end(rest_); end != std::string::npos;
       std::tie(end, gap) = block_end(rest_)) {
    ServerEvent event = event_of(std::string_view(rest_).substr(0, end));
    rest_.erase(0, end + gap);
    if (!event.data.empty()) {
      events.push_back(std::move(event));
    }
  }
  return events;
}

EventFollower::EventFollower(WebOptions options, std::string since, Duration give_up)
    : options_(std::move(options)), last_(std::move(since)), absence_(give_up) {}

std::vector<wire::EventRecord> EventFollower::read(Duration patience) {
  if (!stream_) {
    cutter_.reset();
    auto opened = WebStream::open(
        options_, {.target = "/v1/events",
                   .headers = {{"Accept", "text/event-stream"}, {"Last-Event-ID", last_}}});
    if (!opened) {
      lose(opened.error(), patience);
      return {};
    }
    if (const int status = opened->head().status; status < 200 || status >= 300) {
      failure_ = failure_of(opened->head());
      return {};
    }
    absence_.end();
    stream_ = std::move(*opened);
  }
  const auto text = stream_->read(patience);
  if (!text || stream_->is_over()) {
    stream_.reset();
    lose(text ? Error{.code = ErrorCode::Io, .message = "the server ended the stream"}
              : text.error(),
         patience);
  }
  std::vector<wire::EventRecord> events;
  for (const ServerEvent& event : cutter_.feed(text ? *text : std::string{})) {
    wire::EventRecord record;
    if (read_answer(event.data, record)) {
      events.push_back(record);
    }
    last_ = event.id.empty() ? last_ : event.id;
  }
  return events;
}

void EventFollower::lose(const Error& error, Duration patience) {
  if (absence_.is_too_long()) {
    failure_ = failure_of(error);
    return;
  }
  std::this_thread::sleep_for(patience);
}

}  // namespace rubato
