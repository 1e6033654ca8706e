// What happened to a job's membership: one record per generation, for people and for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/launch/launcher.h"

namespace rubato {

/// One generation from its cause to its first step. Moments count from the start of the job.
struct GenerationRecord {
  std::uint64_t number = 0;
  bool is_forced = false;
  std::string cause{};              // `resize to 4`, `worker 3: killed by signal SIGKILL`.
  std::vector<WorkerId> members{};  // In order of rank.
  Duration ordered{};               // When its cause was known.
  Duration published{};
  Duration entered{};            // By the last member; zero: never.
  Duration first_step{};         // Committed; zero: never.
  Duration pause{};              // Longest time without training of a member that trained before.
  std::uint64_t step = 0;        // Committed when it was entered.
  std::uint64_t lost_steps = 0;  // Committed before and not in its state: must be zero.
  std::int64_t received_bytes = 0;  // By the newcomer that was handed most.
};

/// A worker's end.
struct WorkerRecord {
  WorkerId worker{};
  Duration started{};
  Duration warm{};   // Zero: never.
  Duration ended{};  // Zero: not yet.
  std::string cause{};
};

/// What steps cost with so many workers and such a batch: sums over the steps.
struct ShapeRecord {
  int workers = 0;
  std::uint64_t batch = 0;
  std::uint64_t steps = 0;
  double total_seconds = 0;
  double compute_seconds = 0;
  double reduce_seconds = 0;
  double data_seconds = 0;

  [[nodiscard]] double step_seconds() const { return total_seconds / static_cast<double>(steps); }
};

/// A worker that was slower than its peers.
struct StragglerRecord {
  std::uint64_t generation = 0;
  WorkerId worker{};
  std::string evidence{};
};

/// Something that the user should know, told once per key.
struct JobNotice {
  std::string key{};
  std::string text{};
};

/// What a worker has used of memory at most, and how the newest batch was made to fit.
struct MemoryRecord {
  std::uint64_t worker_bytes = 0;  // Zero: not known.
  std::uint64_t limit_bytes = 0;   // Of a worker; zero: none is known.
  std::uint64_t batch = 0;         // Rows of a batch that does not fit; zero: all do.
  int workers = 1;
  int pieces = 1;  // That a worker computed its part of it in.
  std::uint64_t piece_rows = 0;
};

/// `812 MB per worker, batch of 512 in 4 pieces of 128`; empty if nothing is known.
[[nodiscard]] std::string to_text(const MemoryRecord& memory);

/// How a job ended.
enum class JobOutcome { Running, Finished, Failed, Requeue, Refused, Suspended };

/// Everything worth telling of a job that was conducted.
struct JobTimeline {
  JobOutcome outcome = JobOutcome::Running;
  int exit_code = 0;
  ExitKind cause = ExitKind::UserError;  // Of a failure.
  std::string reason{};  // Of a failure, or what is odd about a success; for the user.
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  double loss = 0;
  std::uint64_t parameter_hash = 0;
  bool hashes_agree = true;  // All that finished had the same parameters.
  Duration total{};
  std::vector<GenerationRecord> generations{};
  std::vector<WorkerRecord> workers{};
  std::vector<ShapeRecord> profile{};  // In the order the shapes were first seen.
  std::vector<StragglerRecord> stragglers{};
  std::vector<JobNotice> notices{};
  MemoryRecord memory{};
};

}  // namespace rubato
