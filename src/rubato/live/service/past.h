// The past of the platform: its journal replayed on a copy of the controller, on the threads of
// those who ask. The service's loop knows nothing of it.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/live/controller/controller.h"
#include "rubato/live/journal/journal_history.h"
#include "rubato/live/service/past_record.h"

namespace rubato {

/// The controller as an input left it, and when that was.
struct PastMoment {
  const Controller& controller;
  Instant at{};
  std::uint64_t sequence = 0;  // Of the input.
  Instant first{};             // The journal's span.
  Instant last{};
};

class Past {
 public:
  static constexpr std::size_t kMarksMax = 24;
  static constexpr std::uint64_t kMarkEveryMin = 256;  // Inputs.

  /// Replays nothing before it is asked. The history must outlive it.
  explicit Past(const JournalHistory& history) : history_(history) {}

  /// Shows what was kept of all inputs so far, and the controller after the last.
  [[nodiscard]] Status look(const std::function<void(const PastRecord&, const PastMoment&)>& look);
  /// Shows the controller after the last input until `moment`.
  [[nodiscard]] Status look_at(Instant moment, const std::function<void(const PastMoment&)>& look);

 private:
  /// A place to begin a replay at.
  struct Mark {
    std::uint64_t sequence = 0;
    Instant at{};
    std::string bytes{};
  };

  [[nodiscard]] Status catch_up();
  void keep_mark();

  const JournalHistory& history_;
  std::mutex mutex_;
  std::optional<Controller> controller_;
  PastRecord record_;
  std::uint64_t sequence_ = 0;
  Instant first_{};
  Instant last_{};
  std::vector<Mark> marks_;
  std::uint64_t mark_every_ = kMarkEveryMin;
};

}  // namespace rubato
