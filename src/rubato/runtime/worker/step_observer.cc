#include "rubato/runtime/worker/step_observer.h"

#include <utility>

#include "rubato/runtime/worker/handover.h"

namespace rubato {
namespace {

// A profile is told of when it has this many steps or this many seconds.
constexpr std::uint64_t kStepsTold = 50;
constexpr double kSecondsTold = 0.5;

}  // namespace

void StepObserver::observe(const ObservedStep& step) {
  const std::size_t ranks = step.notes.size() / kNoteLength;
  if (generation_ != step.generation) {
    generation_ = step.generation;
    profile_.changed();
    named_.clear();
    const std::vector<int> all_new(ranks, -1);
    watch_.regroup(all_new);
  }
  profile_.add({.workers = static_cast<int>(ranks), .batch = step.batch},
               {.total = step.total_seconds,
                .compute = step.times.compute_seconds,
                .communication = step.times.reduce_seconds,
                .data_wait = step.times.data_seconds});
  watch_ranks(step);
}

void StepObserver::watch_ranks(const ObservedStep& step) {
  ranks_.assign(step.notes.size() / kNoteLength, RankCompute{});
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank].seconds = step.notes[rank * kNoteLength + kSeconds];
    const std::size_t first = step.split.first_shard(static_cast<int>(rank));
    for (std::size_t i = 0; i < step.split.shard_count(static_cast<int>(rank)); ++i) {
      ranks_[rank].samples += step.split.shards()[first + i].samples();
    }
  }
  watch_.observe(ranks_);
  for (const StragglerEvidence& evidence : watch_.stragglers()) {
    if (named_.insert(evidence.rank).second) {
      wire::FromWorker message;
      wire::Straggler& straggler = *message.mutable_straggler();
      straggler.set_generation(generation_);
      straggler.set_rank(static_cast<std::uint32_t>(evidence.rank));
      straggler.set_evidence(straggler_text(evidence, StragglerOptions{}));
      messages_.push_back(std::move(message));
    }
  }
}

std::vector<wire::FromWorker> StepObserver::take_messages(bool is_last) {
  bool is_due = is_last;
  for (const ShapeProfile& shape : profile_.shapes()) {
    const double seconds = static_cast<double>(shape.steps) * shape.mean.total;
    is_due = is_due || shape.steps >= kStepsTold || seconds >= kSecondsTold;
  }
  if (is_due) {
    for (const ShapeProfile& shape : profile_.shapes()) {
      const auto steps = static_cast<double>(shape.steps);
      wire::FromWorker message;
      wire::Profile& profile = *message.mutable_profile();
      profile.set_workers(static_cast<std::uint32_t>(shape.shape.workers));
      profile.set_batch(shape.shape.batch);
      profile.set_steps(shape.steps);
      profile.set_total_seconds(steps * shape.mean.total);
      profile.set_compute_seconds(steps * shape.mean.compute);
      profile.set_reduce_seconds(steps * shape.mean.communication);
      profile.set_data_seconds(steps * shape.mean.data_wait);
      messages_.push_back(std::move(message));
    }
    profile_.forget_shapes();
  }
  return std::exchange(messages_, {});
}

}  // namespace rubato
