// Server-sent events: the text of the stream cut into events, and a reader that reconnects.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/cli/client/platform_client.h"
#include "rubato/cli/client/server_absence.h"
#include "rubato/http/client.h"

namespace rubato {

struct ServerEvent {
  std::string id{};
  std::string type{};
  std::string data{};
};

/// Takes the stream in parts of any size.
class EventCutter {
 public:
  [[nodiscard]] std::vector<ServerEvent> feed(std::string_view part);
  /// A new stream begins: half an event of the old one is forgotten.
  void reset() { rest_.clear(); }

 private:
  std::string rest_{};
};

/// The platform's events from a sequence number on, for ever.
class EventFollower {
 public:
  EventFollower(WebOptions options, std::string since, Duration give_up = std::chrono::seconds(60));

  /// Events that came; none if none did within `patience`.
  [[nodiscard]] std::vector<wire::EventRecord> read(Duration patience);
  [[nodiscard]] const std::optional<CallFailure>& failure() const { return failure_; }

 private:
  void lose(const Error& error, Duration patience);

  WebOptions options_;
  std::string last_;  // Id of the last event.
  ServerAbsence absence_;
  EventCutter cutter_{};
  std::optional<WebStream> stream_{};
  std::optional<CallFailure> failure_{};
};

}  // namespace rubato
