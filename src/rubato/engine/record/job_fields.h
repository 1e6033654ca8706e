// The fields of jobs, verdicts and reports on a line of text, once for writing and for reading:
// journals and checkpoints have them in common.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "rubato/core/decision.h"
#include "rubato/core/event.h"
#include "rubato/core/job.h"
#include "rubato/engine/record/journal_text.h"
#include "rubato/engine/state/node_join.h"

namespace rubato {

// Words for enums, in the order of their values.
inline constexpr std::array<std::string_view, 3> kClassNames = {"slo", "soft", "best_effort"};
inline constexpr std::array<std::string_view, 4> kValueNames = {"constant", "steps", "sigmoid",
                                                                "linear_after_deadline"};
inline constexpr std::array<std::string_view, 5> kVerdictNames = {"admit", "refuse", "defer",
                                                                  "demote", "offer"};

[[nodiscard]] inline std::vector<std::string_view> reason_names() {
  std::vector<std::string_view> names;
  names.reserve(kReasons);
  for (int i = 0; i < kReasons; ++i) {
    names.push_back(to_string(static_cast<Reason>(i)));
  }
  return names;
}

template <typename Line, typename SomeNode>
void node_fields(Line& line, SomeNode& node) {
  line.field("gpus", node.gpus);
  line.field("gpu_type", node.gpu_type);
  line.field("region", node.region);
}

/// `Line` is a LineWriter or a LineReader; `SomeJob` a Job, const if it is written.
template <typename Line, typename SomeJob>
void job_fields(Line& line, SomeJob& job) {
  line.field("id", job.id);
  line.field("name", job.name);
  line.field("tenant", job.tenant);
  line.choice("class", job.job_class, kClassNames);
  line.field("arrival", job.arrival);
  line.field("deadline", job.deadline);
  line.field("work", job.work);
  line.field("model", job.model);
  line.field("batch", job.batch);
  line.field("batch_initial", job.batches.initial);
  line.field("batch_max", job.batches.max);
  line.field("local_min", job.batches.local_min);
  line.field("local_max", job.batches.local_max);
  line.field("requested", job.requested);
  line.field("duration", job.duration);
  line.field("workers_min", job.workers.min);
  line.field("workers_max", job.workers.max);
  line.field("workers", job.workers.listed);
  line.field("gpu_type", job.gpu_type);
  line.field("region", job.region);
  line.field("data_gb", job.data_gb);
  line.field("weight", job.weight);
  line.choice("value", job.value.kind, kValueNames);
  line.field("amount", job.value.amount);
  line.field("decay", job.value.decay);
  line.field("knee", job.value.knee);
  line.field("steps", job.value.steps);
  line.optional_field("padding", job.padding);
  line.optional_field("speeds", job.speeds);
}

/// Likewise for a Verdict.
template <typename Line, typename SomeVerdict>
void verdict_fields(Line& line, SomeVerdict& verdict) {
  line.field("job", verdict.job);
  line.choice("kind", verdict.kind, kVerdictNames);
  line.choice("reason", verdict.reason, reason_names());
  line.field("promised", verdict.promised);
  line.field("payment", verdict.payment);
  line.optional_field("quoted", verdict.quoted);
}

/// Likewise for a StepObservation.
template <typename Line, typename SomeStep>
void step_fields(Line& line, SomeStep& step) {
  line.field("nodes", step.nodes);
  line.field("step_workers", step.workers);
  line.field("local_batch", step.local_batch);
  line.field("pass_seconds", step.pass_seconds);
  line.field("step_seconds", step.step_seconds);
  line.field("gradient_squared", step.gradient_squared);
  line.field("gradient_variance", step.gradient_variance);
}

}  // namespace rubato
