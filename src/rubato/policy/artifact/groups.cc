#include "rubato/policy/artifact/groups.h"

#include <utility>

namespace rubato::policy::artifact {

bool Groups::begin_round(int rounds_between_restarts) {
  restarts_ = rounds_ > 0 && rounds_ % rounds_between_restarts == 0;
  ++rounds_;
  next_gpu_ = 0;
  return restarts_;
}

bool Groups::place(int gpus) {
  const bool is_new = known_.insert(Group{.first_gpu = next_gpu_, .gpus = gpus}).second;
  next_gpu_ += gpus;
  return !is_new;
}

void Groups::end_round() {
  if (restarts_) {
    known_.clear();
  }
}

void Groups::restore(int rounds, std::set<Group> known) {
  rounds_ = rounds;
  known_ = std::move(known);
}

}  // namespace rubato::policy::artifact
