// What is remembered of each input while the journal is replayed: who held which slot, what was
// decided, how jobs went. Everything kept has an end; the oldest goes first.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rubato/live/controller/controller.h"
#include "rubato/live/journal/journal_item.h"
#include "rubato/live/service/platform.h"
#include "rubato/wire/history.pb.h"

namespace rubato {

/// Fed with every input in order, right after the controller took it in.
class PastRecord {
 public:
  static constexpr std::size_t kUsesKept = 20'000;
  static constexpr std::size_t kUseMomentsKept = 20'000;
  static constexpr std::size_t kDecisionsKept = 10'000;
  static constexpr std::size_t kPointsKept = 400;  // Of one job; then every second one goes.
  static constexpr std::size_t kGenerationsKept = 200;

  void note(const JournalRecord& record, const Effects& effects, const Controller& controller);

  /// Slots and GPUs during the span; jobs are left to the caller.
  [[nodiscard]] wire::TimelineReply timeline(const TimeSpan& span) const;
  /// The newest `limit` of the span.
  [[nodiscard]] wire::DecisionList decisions(const TimeSpan& span, std::size_t limit) const;
  /// The last one until a moment; null if there was none, or it is forgotten.
  [[nodiscard]] const wire::DecisionRecord* decision_until(Instant moment) const;
  /// Points and generations alone.
  [[nodiscard]] wire::JobHistory job(JobId id) const;

 private:
  using SlotKey = std::pair<std::string, int>;
  struct SlotHolding {
    JobId job{};
    Instant from{};
  };
  struct PastUse {
    JobId job{};
    SlotKey slot{};
    Instant from{};
    Instant to{};
  };
  struct UseMoment {
    Instant at{};
    int gpus = 0;
    int used = 0;
    int jobs = 0;

    [[nodiscard]] bool is_same_use(const UseMoment& other) const {
      return gpus == other.gpus && used == other.used && jobs == other.jobs;
    }
  };
  struct DecisionMoment {
    Instant at{};
    wire::DecisionRecord record{};
  };
  struct SeriesPoint {
    Instant at{};
    double done = 0;
    double speed = 0;
    double loss = 0;
    int workers = 0;
  };
  struct SeriesGeneration {
    std::uint64_t number = 0;
    Instant at{};
    int workers = 0;
    double pause_seconds = 0;
  };
  struct JobSeries {
    std::vector<SeriesPoint> points{};
    std::vector<SeriesGeneration> generations{};
  };

  void note_slots(Instant at, const Controller& controller);
  void note_decision(const JournalRecord& record, const Effects& effects);
  void note_report(Instant at, const wire::JobReport& report);

  std::map<SlotKey, SlotHolding> held_;
  std::deque<PastUse> uses_;  // Those that are over, by their end.
  std::deque<UseMoment> use_;
  std::deque<DecisionMoment> decisions_;
  std::map<JobId, JobSeries> jobs_;
  bool has_forgotten_uses_ = false;
  bool has_forgotten_decisions_ = false;
};

}  // namespace rubato
