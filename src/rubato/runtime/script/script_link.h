// A leader's line to the program that runs its job, as the Python side uses it: what is wanted of
// the script, and what the script says. One thread of the script calls it.
//
// Forks: children of the leader (replicas, loader processes) must not use it, and nothing happens
// if they do or if they destroy it. A copy that takes the leader's place calls `after_fork` first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/runtime/script/leader_state.h"
#include "rubato/runtime/script/script_connection.h"

namespace rubato::runtime::script {

/// How many compute now, and why.
struct ResizeReport {
  int workers = 1;
  double pause_seconds = 0;
  std::uint64_t step = 0;
  std::string cause{};
  std::vector<pid_t> pids{};  // Of the replicas, the oldest first.
  bool is_forced = false;     // A replica was lost.
};

struct ProfileReport {
  int workers = 1;
  std::uint64_t steps = 0;
  double seconds = 0;  // Of all of them.
};

struct MetricReport {
  std::string name{};
  double value = 0;
  std::uint64_t step = 0;
};

/// What a worker uses of memory; `batch` is zero while all batches fit.
struct MemoryReport {
  std::uint64_t worker_bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::uint64_t batch = 0;
  int workers = 1;
  int pieces = 1;
  std::uint64_t piece_rows = 0;
};

struct FinishReport {
  std::uint64_t step = 0;
  std::uint64_t parameter_hash = 0;
  double loss = 0;
};

/// The line.
class ScriptLink {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ScriptLink>> connect(
      ScriptAddress address, Duration shrink_grace = kShrinkGrace);
  ~ScriptLink();
  ScriptLink(const ScriptLink&) = delete;
  ScriptLink& operator=(const ScriptLink&) = delete;

  // What is wanted.
  [[nodiscard]] WantedWorkers wanted() const { return state_.wanted(); }
  [[nodiscard]] bool take_snapshot_request() { return state_.wants_snapshot.exchange(false); }
  [[nodiscard]] bool wants_suspend() const { return state_.wants_suspend; }
  /// Empty while the script need not leave.
  [[nodiscard]] std::string exit_reason() const;
  /// As it was when this process said hello first.
  [[nodiscard]] const wire::script::Welcome& welcome() const { return welcome_; }
  /// What the script resumes from; nothing if it begins.
  [[nodiscard]] Result<std::optional<std::string>> resume_state() const;

  // What the script says. Sending blocks while the other side does not read.
  /// So many steps are committed. A loss that is no number is not known.
  void report_step(std::uint64_t step, double loss);
  void set_epoch(std::uint64_t epoch) { state_.epoch = epoch; }
  /// These are the replicas, the oldest first; before the caller waits for one of the processes.
  void set_replicas(std::span<const pid_t> pids);
  void report_resize(const ResizeReport& report);
  void report_profile(const ProfileReport& report);
  void tell_notice(const std::string& key, const std::string& text);
  void report_metrics(std::span<const MetricReport> points);
  void report_memory(const MemoryReport& report);
  void set_plan(std::uint64_t steps, std::uint64_t steps_per_epoch);
  [[nodiscard]] Status write_snapshot(std::uint64_t step, std::span<const std::byte> state);
  void report_suspended(std::uint64_t step);
  /// Waits until the script may go on (true) or must leave (false).
  [[nodiscard]] bool wait_resume();
  void report_finished(const FinishReport& report);

  /// What the connection has open, for whoever looks at the files of this process.
  [[nodiscard]] std::vector<int> descriptors() const;
  /// Of the connection's thread, as the kernel counts; 0 without one.
  [[nodiscard]] pid_t thread_id() const;
  /// Ends the connection and its thread.
  void close();
  /// For a copy of the leader that takes its place: connects again under the same name.
  [[nodiscard]] Status after_fork();

 private:
  ScriptLink(ScriptAddress address, Duration shrink_grace);

  [[nodiscard]] Status open();
  [[nodiscard]] bool is_usable() const;
  void send(const wire::script::FromScript& message);

  ScriptAddress address_;
  Duration shrink_grace_;
  LeaderState state_;
  wire::script::Welcome welcome_;
  pid_t owner_;                      // The process whose connection this is.
  std::size_t milestones_done_ = 0;  // Told of.
  std::uint64_t steps_per_epoch_ = 0;
  std::uint64_t snapshot_due_ = 0;  // The step with which the next snapshot is due; 0: none.
  bool tells_next_step_ = false;    // The first after a change of size.
  std::unique_ptr<ScriptConnection> connection_;
};

}  // namespace rubato::runtime::script
