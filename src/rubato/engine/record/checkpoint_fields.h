// The fields of each line of a checkpoint, once for writing and for reading. See checkpoint.h.
//
// `Line` is a LineWriter or a LineReader, `Some...` the struct, const if it is written.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/random.h"
#include "rubato/core/job_state.h"
#include "rubato/engine/record/job_fields.h"
#include "rubato/predict/goodput_book.h"

namespace rubato {

/// What there is only one of. The first two tell whether the cluster is the same.
struct CheckpointHead {
  std::vector<int> gpus{};  // By pool.
  int nodes = 0;
  Instant now{};
  Instant wake = kNever;
  std::uint64_t rounds = 0;
  std::vector<int> down{};  // Nodes.
  int artifact_rounds = 0;
  Random::Words random{};
};

template <typename Line, typename SomeHead>
void head_fields(Line& line, SomeHead& head) {
  constexpr std::array<std::string_view, 5> kRandom = {"random0", "random1", "random2", "random3",
                                                       "seed"};
  line.field("gpus", head.gpus);
  line.field("nodes", head.nodes);
  line.field("now", head.now);
  line.field("wake", head.wake);
  line.field("rounds", head.rounds);
  line.field("down", head.down);
  line.field("artifact_rounds", head.artifact_rounds);
  for (std::size_t i = 0; i < kRandom.size(); ++i) {
    line.field(kRandom.at(i), head.random.at(i));
  }
}

/// What makes a job one of its kind.
template <typename Line, typename SomeJob>
void kind_fields(Line& line, SomeJob& job) {
  line.field("model", job.model);
  line.field("batch", job.batch);
  line.field("gpu_type", job.gpu_type);
  line.field("workers_min", job.workers.min);
  line.field("workers_max", job.workers.max);
  line.field("workers", job.workers.listed);
  line.optional_field("speeds", job.speeds);
}

template <typename Line, typename SomePlacement>
void placement_fields(Line& line, SomePlacement& placement) {
  line.field("pool", placement.pool);
  line.field("gpus", placement.ranges);
}

/// All but its entry in the speed book, which its kind says.
template <typename Line, typename SomeState>
void state_fields(Line& line, SomeState& state) {
  line.choice("class_now", state.job_class, kClassNames);
  line.field("speed_factor", state.speed_factor);
  line.field("admitted", state.admitted);
  line.field("promised", state.promised);
  line.choice("reason", state.reason, reason_names());
  line.field("share", state.share);
  placement_fields(line, state.placement);
  line.field("local_now", state.split.local);
  line.field("accumulation", state.split.accumulation);
  line.field("done", state.progress.done);
  line.field("speed", state.progress.speed);
  line.field("since", state.progress.since);
  line.field("paused_until", state.progress.paused_until);
  line.field("used_since", state.usage.since);
  line.field("gpu_seconds", state.usage.gpu_seconds);
  line.field("executed", state.usage.executed);
  line.field("waited", state.usage.waited);
  line.field("plan_pool", state.plan.pool);
  line.field("plan", state.plan.segments);
  line.field("first_start", state.first_start);
  line.field("resizes", state.resizes);
  line.field("migrations", state.migrations);
  line.field("restarts", state.restarts);
  job_fields(line, state.job);
}

/// How many quotes were given, and how many of them to newcomers' benefit given up.
template <typename Line, typename SomeCount>
void quote_count_fields(Line& line, SomeCount& count) {
  line.field("given", count.given);
  line.field("yielded", count.yielded);
}

/// Whose quote it is, and what was quoted.
struct QuoteLine {
  JobId job{};
  FirmQuote quote{};
};

template <typename Line, typename SomeQuote>
void quote_fields(Line& line, SomeQuote& of) {
  line.field("job", of.job);
  line.field("finish", of.quote.finish);
  line.field("soonest", of.quote.soonest);
  line.field("asked", of.quote.asked);
}

/// A JobGoodput without its parts, and whose it is.
struct LearnerLine {
  bool is_job = false;
  JobId job{};
  std::string model{};
  BatchLimits limits{};
  std::uint64_t version = 0;
  bool has_noise = false;
  GradientNoise noise{};
};

template <typename Line, typename SomeLimits>
void limits_fields(Line& line, SomeLimits& limits) {
  line.field("initial", limits.initial);
  line.field("max", limits.max);
  line.field("local_min", limits.local_min);
  line.field("local_max", limits.local_max);
}

template <typename Line, typename SomeLearner>
void learner_fields(Line& line, SomeLearner& learner) {
  line.field("is_job", learner.is_job);
  line.field("job", learner.job);
  line.field("model", learner.model);
  limits_fields(line, learner.limits);
  line.field("version", learner.version);
  line.field("has_noise", learner.has_noise);
  line.field("squared", learner.noise.squared);
  line.field("variance", learner.noise.variance);
}

/// The limits of the last learner on one pool.
struct LearnerLimits {
  PoolId pool{};
  BatchLimits limits{};
};

template <typename Line, typename SomeLimits>
void learner_limits_fields(Line& line, SomeLimits& there) {
  line.field("pool", there.pool);
  limits_fields(line, there.limits);
}

/// What the last learner was fitted to be on one pool; its observations follow.
struct LearnerPool {
  PoolId pool{};
  int workers_seen = 0;
  bool has_model = false;
  ThroughputModel model{};
};

template <typename Line, typename SomePool>
void learner_pool_fields(Line& line, SomePool& here) {
  line.field("pool", here.pool);
  line.field("workers_seen", here.workers_seen);
  line.field("has_model", here.has_model);
  line.field("pass_constant", here.model.pass_constant);
  line.field("pass_per_sample", here.model.pass_per_sample);
  line.field("node_constant", here.model.node_constant);
  line.field("node_per_worker", here.model.node_per_worker);
  line.field("wide_constant", here.model.wide_constant);
  line.field("wide_per_worker", here.model.wide_per_worker);
  line.field("gamma", here.model.gamma);
}

}  // namespace rubato
