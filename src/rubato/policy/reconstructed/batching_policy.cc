#include "rubato/policy/reconstructed/batching_policy.h"

#include <algorithm>

namespace rubato::policy::reconstructed {

void BatchingPolicy::enter(const JobState& job, const View& view) {
  pending_.insert(job.id());
  clock_.arrive(round_at(view), batch_slot(view));
}

void BatchingPolicy::hold_batch(const View& view, Decision& decision) {
  if (view.now < clock_.next()) {
    return;
  }
  if (pending_.empty() && book().plans().empty()) {
    clock_.stop();
    return;
  }
  decide(view, decision);
  clock_.advance(view.now, batch_slot(view));
}

Instant BatchingPolicy::next_batch(Instant earliest) const {
  // With nobody pending a batch would be for nothing, but for stopping the clock.
  return clock_.next() == kNever || (pending_.empty() && !book().plans().empty())
             ? kNever
             : std::max(earliest, clock_.next());
}

void BatchingPolicy::save_more(std::string& state) const {
  clock_.save(state);
  for (const JobId job : pending_) {
    append_line(state, "pending", {static_cast<std::int64_t>(job.value)});
  }
}

bool BatchingPolicy::restore_more(const SavedLine& line) {
  if (line.word == "pending" && line.numbers.size() == 1) {
    pending_.insert(JobId{static_cast<std::uint64_t>(line.numbers[0])});
    return true;
  }
  return clock_.restore(line);
}

void BatchingPolicy::clear_more() {
  clock_ = DoublingClock(times_.slots_max);
  pending_.clear();
}

Duration BatchingPolicy::batch_slot(const View& view) const {
  const Duration chosen = times_.slot != Duration{} ? times_.slot : kBatchSlot;
  return planning::on_grid(Instant{std::max(chosen, view.slot)}, view.slot).time_since_epoch();
}

}  // namespace rubato::policy::reconstructed
