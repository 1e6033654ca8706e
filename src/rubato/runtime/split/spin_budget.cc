#include "rubato/runtime/split/spin_budget.h"

namespace rubato::runtime::split {
namespace {

constexpr std::chrono::duration<double> kRemembered{1};

}  // namespace

bool SpinBudget::wait(const std::function<bool(std::chrono::microseconds)>& wait) {
  const TimePoint begin = std::chrono::steady_clock::now();
  const bool is_there = wait(spin());
  note(begin, std::chrono::steady_clock::now(), is_there);
  return is_there;
}

std::chrono::microseconds SpinBudget::spin() const {
  return goes_on_ || vain_ > kVainShareMax * total_ ? kShort : kLong;
}

void SpinBudget::note(TimePoint begin, TimePoint end, bool is_there) {
  if (spin() == kLong && end - begin > kLong) {
    vain_ += kLong;
  }
  total_ += end - (since_ == TimePoint{} ? begin : since_);
  since_ = end;
  goes_on_ = !is_there;
  if (total_ > kRemembered) {
    total_ /= 2;
    vain_ /= 2;
  }
}

}  // namespace rubato::runtime::split
