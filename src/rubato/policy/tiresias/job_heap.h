// Jobs by moment, earliest first, for moments that change more often than they come first.
//
// An entry that no longer holds is not looked for: it stays until it would come first, or until
// such entries are the greater part. Whoever asks says which entries hold.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/ids.h"

namespace rubato::policy::tiresias {

/// Ties by job. An entry that was added twice may come twice.
class JobHeap {
 public:
  using Entry = std::pair<Instant, JobId>;

  /// `jobs_max`: more jobs than this have no entry that holds.
  template <typename Holds>
  void add(const Entry& entry, std::size_t jobs_max, Holds holds) {
    if (entries_.size() > 2 * jobs_max + kVoidMin) {
      std::erase_if(entries_, [&](const Entry& each) { return !holds(each); });
      std::ranges::sort(entries_);
      entries_.erase(std::unique(entries_.begin(), entries_.end()), entries_.end());
    }
    entries_.push_back(entry);
    std::ranges::push_heap(entries_, std::greater{});
  }

  /// The earliest entry that holds; null if none does.
  template <typename Holds>
  [[nodiscard]] const Entry* first(Holds holds) {
    while (!entries_.empty() && !holds(entries_.front())) {
      drop_first();
    }
    return entries_.empty() ? nullptr : &entries_.front();
  }

  void drop_first() {
    std::ranges::pop_heap(entries_, std::greater{});
    entries_.pop_back();
  }

  void clear() { entries_.clear(); }

 private:
  static constexpr std::size_t kVoidMin = 64;  // Fewer are not worth a sweep.

  std::vector<Entry> entries_;  // A heap; sorted after a sweep, which is one as well.
};

}  // namespace rubato::policy::tiresias
