// A job's log as it grows, over broken lines and restarts of the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "rubato/cli/client/platform_client.h"
#include "rubato/cli/client/server_absence.h"
#include "rubato/http/client.h"

namespace rubato {

/// Follows one body that can be taken up again where it broke off.
class LogFollower {
 public:
  /// `give_up`: how long the server may be away.
  LogFollower(WebOptions options, std::string job, std::uint64_t from,
              Duration give_up = std::chrono::seconds(60));

  /// What came; empty if nothing did within `patience`.
  [[nodiscard]] std::string read(Duration patience);
  /// The job has ended and all of its log was read.
  [[nodiscard]] bool is_over() const { return is_over_; }
  /// Set when there is no sense in going on.
  [[nodiscard]] const std::optional<CallFailure>& failure() const { return failure_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }

 private:
  void lose(const Error& error, Duration patience);

  WebOptions options_;
  std::string job_;
  std::uint64_t next_;
  ServerAbsence absence_;
  std::optional<WebStream> stream_{};
  bool is_over_ = false;
  std::optional<CallFailure> failure_{};
};

}  // namespace rubato
