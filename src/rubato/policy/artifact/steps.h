// GPUs over whole seconds, as ElasticFlow's published simulator keeps them: free ones, or a job's.
//
// Unlike core/ledger.h this remembers where its breakpoints are even if nothing changes there: the
// artifact's plans depend on the breakpoints, not only on the values (see filling.h).
#pragma once

#include <cstdint>
#include <vector>

namespace rubato::policy::artifact {

using WholeSeconds = std::int64_t;

/// Stands for "no deadline" and "never"; sums of two stay clear of overflow.
inline constexpr WholeSeconds kForever = WholeSeconds{1} << 61;

/// `gpus` from this second until the next step.
struct Step {
  WholeSeconds from = 0;
  int gpus = 0;

  friend bool operator==(const Step&, const Step&) = default;
};

/// Rising in time; the last step never ends.
using Steps = std::vector<Step>;

/// Position of the first step at or after a second.
[[nodiscard]] std::size_t position(const Steps& steps, WholeSeconds second);

/// Drops every step that repeats the value before it.
void merge(Steps& steps);

/// GPU-seconds of a job's steps, the last of which lasts until `end`.
[[nodiscard]] std::int64_t gpu_seconds(const Steps& steps, WholeSeconds end);

/// A job's part of the plan; it holds nothing from `end` on, whatever its steps say. Borrowed.
struct Held {
  const Steps& steps;
  WholeSeconds end = 0;
};

/// Merged sum, up to the second `until`, of merged steps of free GPUs and what a job would give
/// back. Both begin at the same second. No value exceeds `gpus`.
void give_back(const Steps& free, const Held& held, int gpus, WholeSeconds until, Steps& sum);

/// The first moment at or after `moment` that is a whole number of slots from `origin`.
[[nodiscard]] WholeSeconds align_up(WholeSeconds origin, WholeSeconds moment, WholeSeconds slot);

}  // namespace rubato::policy::artifact
