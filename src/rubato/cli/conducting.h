// What `rubato conduct` does while its job runs: obeys newer orders, tells the agent how the job
// stands, and writes down how it ended.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "rubato/cli/conduct_line.h"
#include "rubato/cli/conducted_job.h"

namespace rubato {

/// From the first order to the end of the job.
class Conducting {
 public:
  Conducting(wire::ConductOrder order, std::unique_ptr<ConductedJob> job, ConductLine& line);

  /// Waits for something to happen and deals with it. False: the job is over.
  [[nodiscard]] bool turn();
  /// As if the controller had taken all slots away; for the end of the machine.
  void suspend(const std::string& reason);
  /// How the job ended.
  [[nodiscard]] wire::JobEnded ended() const;

 private:
  using Clock = std::chrono::steady_clock;

  void take(const wire::ToConduct& message);
  void obey(const wire::ConductOrder& order);
  void tell();
  void report(Clock::time_point moment);

  wire::ConductOrder order_;
  std::unique_ptr<ConductedJob> job_;
  ConductLine& line_;
  std::uint64_t last_seen_;         // Number of the newest order, of any kind.
  std::uint64_t obeyed_;            // Number of the last order that the job trains by.
  std::uint64_t suspended_by_ = 0;  // Number of the order to suspend that was last carried out.
  std::uint64_t told_held_ = 0;     // Number of the last order that took effect.
  std::string stop_reason_{};
  bool is_stopped_ = false;
  bool is_suspending_ = false;
  Clock::time_point reported_{};
  wire::JobReport last_report_{};
};

}  // namespace rubato
