// What `rubato conduct` does while its job runs: obeys newer orders, tells the agent how the job
// stands, and writes down how it ended.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "rubato/job/conduct_line.h"
#include "rubato/job/conducted_job.h"

namespace rubato {

/// From the first order to the end of the job.
class Conducting {
 public:
  /// Line and metrics must outlive it.
  Conducting(wire::ConductOrder order, std::unique_ptr<ConductedJob> job, ConductLine& line,
             launch::metrics::JobMetrics& metrics);

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
  void give_back();
  void tell();
  void report(Clock::time_point moment);
  void watch_metrics(double done);
  void tell_metrics();

  wire::ConductOrder order_;
  std::unique_ptr<ConductedJob> job_;
  ConductLine& line_;
  launch::metrics::JobMetrics& metrics_;
  std::uint64_t last_seen_;         // Number of the newest order, of any kind.
  std::uint64_t obeyed_;            // Number of the last order that the job trains by.
  std::uint64_t suspended_by_ = 0;  // Number of the order to suspend that was last carried out.
  std::uint64_t told_held_ = 0;     // Number of the last order that took effect.
  std::string stop_reason_{};
  bool is_stopped_ = false;
  bool is_suspending_ = false;
  bool is_parked_ = false;  // Likewise, with its processes kept for now.
  Clock::time_point parked_until_{};
  std::string until_note_{};  // Why the job is being ended early; empty: it is not.
  Clock::time_point reported_{};
  wire::JobReport last_report_{};
};

}  // namespace rubato
