// A job of the live platform: what its owner asked for, and all that became of it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/ids.h"
#include "rubato/core/job.h"
#include "rubato/core/reason.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

enum class LiveState {
  Pending,    // Without workers, for now.
  Profiling,  // Trains while its speed is measured; its deadline is answered afterwards.
  Starting,   // Ordered to run, not yet heard of.
  Running,
  Resizing,    // Ordered to change, trains on meanwhile.
  Suspended,   // Had workers and will again.
  Recovering,  // Lost what ran it; starts again from its newest snapshot.
  Succeeded,
  Failed,
  Cancelled,
  Rejected,
};

[[nodiscard]] std::string_view to_string(LiveState state);
[[nodiscard]] bool is_over(LiveState state);

/// The job that messages name so; zero, which is nobody's, for what is no number.
[[nodiscard]] JobId job_id_of(std::string_view text);

/// What the owner's words come to.
[[nodiscard]] JobClass job_class_of(const wire::JobSpec& spec, Instant deadline);

/// The owner's max_runtime; zero without one.
[[nodiscard]] Duration runtime_max_of(const wire::JobSpec& spec);

/// Steps that may be done and not told of yet: one is under way, and word takes its time.
[[nodiscard]] double unseen_steps(double speed);

/// A change of a job's workers and who brought it about.
struct ResizeRecord {
  Instant at{};
  int before = 0;
  int after = 0;
  std::string cause{};
  std::string caused_by{};
};

/// What is promised of a job, and how that was kept.
struct PromiseRecord {
  Instant promised = kNever;       // What we answer for; kNever: nothing.
  Instant quoted_finish = kNever;  // As expected when it was promised.
  bool is_simulated = false;       // The quoted finish is; otherwise it is that of the plan.
  bool is_at_risk = false;
};

/// How a job ended.
struct EndRecord {
  Instant at = kNever;
  int exit_code = 0;
  std::string cause{};
  std::string parameter_hash{};
};

struct LiveJob {
  JobId id{};
  JobId engine_id{};  // Its name in the engine, which changes when its terms do.
  double base = 0;    // Steps that were done when it got that name.
  wire::JobSpec spec{};
  std::string user{};
  Instant submitted{};
  Instant deadline = kNever;
  JobClass job_class = JobClass::BestEffort;
  Duration runtime_max{};  // It is ended when it has held slots so long; zero: never.

  LiveState state = LiveState::Pending;
  Reason reason = Reason::None;
  std::string message{};
  PromiseRecord promise{};
  EndRecord end{};

  std::uint64_t order = 0;         // Number of the last one that was sent.
  std::set<std::string> agents{};  // All that were ever ordered to run it.
  Instant decided{};               // When the engine last gave it workers, or other ones.
  int share = 0;                   // Workers the engine gave it.
  double done = 0;                 // Steps, as reported.
  double speed = 0;
  double loss = 0;
  std::optional<wire::MemoryUse> memory{};  // As last reported.
  int workers = 0;                          // That train, as reported.
  std::vector<wire::SpeedPoint> speeds{};   // Declared, known of its kind, or measured.
  Instant started = kNever;
  Instant used_until{};  // GPU time is counted up to here.
  Duration ran{};        // While it held slots, up to there.
  double gpu_seconds = 0;
  int losses = 0;  // Of what ran it, in a row, without a step between them.
  double done_at_loss = 0;
  int restarts = 0;
  int restarts_before = 0;              // Before what runs it now began, which counts from zero.
  std::vector<ResizeRecord> resizes{};  // The last kResizesKept.

  static constexpr std::size_t kResizesKept = 200;

  [[nodiscard]] bool has_promise() const { return promise.promised != kNever; }
};

}  // namespace rubato
