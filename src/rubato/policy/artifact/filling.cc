#include "rubato/policy/artifact/filling.h"

#include <algorithm>
#include <cmath>

#include "rubato/base/check.h"

namespace rubato::policy::artifact {
namespace {

constexpr int kNoStep = -1;        // In `share_`: the plan has no breakpoint here.
constexpr int kNone = -1;          // In `widest_`: not even the smallest level is free.
constexpr int kUnknown = -2;       // In `widest_`: not looked up yet.
constexpr double kMinWork = 1e-9;  // Steps that rounding may leave over.

WholeSeconds seconds_up(double seconds) { return static_cast<WholeSeconds>(std::ceil(seconds)); }

// The whole second by which work that takes some time from `start` on is done. A sliver of work is
// lost in the sum with a late moment; it still takes a second, or its GPUs would never be free.
WholeSeconds done_by(WholeSeconds start, double seconds) {
  return std::max(start + 1, seconds_up(static_cast<double>(start) + seconds));
}

/// Lives for one call of fill(). Levels are named by their position in the demand.
class Fill {
 public:
  Fill(const Demand& demand, const Frame& frame, Steps& free, FillScratch& scratch,
       Booking& booking)
      : demand_(demand),
        frame_(frame),
        free_(free),
        share_(scratch.share),
        widest_(scratch.widest),
        booking_(booking),
        due_(align_up(frame.now, demand.deadline, frame.slot)),
        left_(demand.left) {
    RUBATO_CHECK(!free.empty() && free.front().from == frame.now && demand.left > 0);
    before_due_ = position(free_, due_);
    due_is_new_ = due_ >= frame.now && !is_at(before_due_, due_);
    if (due_is_new_) {
      insert(before_due_, Step{.from = due_, .gpus = free_[before_due_ - 1].gpus});
    }
    share_.assign(free_.size(), kNoStep);
    widest_.assign(free_.size(), kUnknown);
    share_[0] = 0;
  }

  void run() {
    if (demand_.levels.empty()) {
      booking_.end = booking_.real_end = kForever;
    } else if (demand_.first == 0 || !hold_first()) {
      fill_levels();
    }
    write_steps();
    if (closing_gpus_ >= 0) {
      close();
    }
  }

 private:
  [[nodiscard]] double speed(int level) const {
    return demand_.levels[static_cast<std::size_t>(level)].speed;
  }
  [[nodiscard]] int gpus(int level) const {
    return level < 0 ? 0 : demand_.levels[static_cast<std::size_t>(level)].workers;
  }
  // The last stretch counts only up to the true deadline.
  [[nodiscard]] double span(WholeSeconds from, WholeSeconds to) const {
    return static_cast<double>((to == due_ ? demand_.deadline : to) - from);
  }
  [[nodiscard]] bool is_at(std::size_t at, WholeSeconds second) const {
    return at < free_.size() && free_[at].from == second;
  }
  void insert(std::size_t at, Step step) {
    free_.insert(free_.begin() + static_cast<std::ptrdiff_t>(at), step);
  }
  // The largest level that is free at a step.
  int widest(std::size_t at) {
    int& level = widest_[at];
    if (level == kUnknown) {
      level = static_cast<int>(demand_.levels.size()) - 1;
      while (level > kNone && gpus(level) > free_[at].gpus) {
        --level;
      }
    }
    return level;
  }
  void take(std::size_t at, int workers) {
    share_[at] = workers;
    free_[at].gpus -= workers;
  }

  // Holds the demanded GPUs until the first breakpoint; true if the job is done by then, in time.
  bool hold_first() {
    const auto level = std::ranges::find(demand_.levels, demand_.first, &ScalingPoint::workers);
    RUBATO_CHECK(level != demand_.levels.end() && demand_.first <= free_[0].gpus);
    const std::size_t given = free_.size() - (due_is_new_ ? 1 : 0);
    const std::size_t second = due_is_new_ && before_due_ == 1 ? 2 : 1;
    const WholeSeconds next = given > 1 ? free_[second].from : std::max(due_, frame_.now);
    const int before = free_[0].gpus;
    const WholeSeconds done = done_by(frame_.now, left_ / level->speed);
    const WholeSeconds end = align_up(frame_.now, done, frame_.slot);
    take(0, demand_.first);
    if (end <= next && done <= demand_.deadline) {
      finish(done, end, before);
      return true;
    }
    left_ = std::max(left_ - span(frame_.now, next) * level->speed, kMinWork);
    from_ = given > 1 ? second : before_due_;
    share_[from_] = 0;
    return false;
  }

  void fill_levels() {
    std::replace(share_.begin(), share_.begin() + static_cast<std::ptrdiff_t>(before_due_), kNoStep,
                 0);
    for (int level = 0; level < static_cast<int>(demand_.levels.size()); ++level) {
      const std::size_t split = suffices_from(level);
      if (split < before_due_) {
        commit(split, level);
        return;
      }
    }
    overrun();
  }

  // The latest step from which this level alone is enough; before_due_ if it never is.
  std::size_t suffices_from(int level) {
    double sum = 0;
    for (std::size_t at = before_due_; at-- > from_;) {
      const int used = std::min(level, widest(at));
      if (used > kNone) {
        sum += span(free_[at].from, free_[at + 1].from) * speed(used);
        if (sum >= left_) {
          return at;
        }
      }
    }
    return before_due_;
  }

  // Takes `level` from `split` on and, needlessly, the level below before it.
  void commit(std::size_t split, int level) {
    for (std::size_t at = from_; at <= before_due_; ++at) {
      const int used = std::min(at < split ? level - 1 : level, widest(at));
      const WholeSeconds start = free_[at].from;
      const int before = free_[at].gpus;
      take(at, gpus(used));
      const bool is_last = at == before_due_;  // Only if rounding left something over.
      if (used == kNone && !is_last) {
        continue;
      }
      const double work = is_last ? left_ : span(start, free_[at + 1].from) * speed(used);
      if (work < left_) {
        left_ -= work;
        continue;
      }
      const WholeSeconds run = used == kNone ? 0 : seconds_up(left_ / speed(used));
      finish(start + run, start + align_up(0, run, frame_.slot), closing_value(at, before));
      return;
    }
  }

  // What is free again at the end of a job whose last stretch is step `at`: the value given there.
  [[nodiscard]] int closing_value(std::size_t at, int before) const {
    const bool new_due = due_is_new_ && at == before_due_;
    return new_due && at > from_ ? free_[at - 1].gpus + share_[at - 1] : before;
  }

  // Late: the top level up to the deadline, then whatever is free.
  void overrun() {
    const int top = static_cast<int>(demand_.levels.size()) - 1;
    for (std::size_t at = from_; at < before_due_; ++at) {
      const int used = std::min(top, widest(at));
      take(at, gpus(used));
      if (used > kNone) {
        const double work = span(free_[at].from, free_[at + 1].from) * speed(used);
        left_ = std::max(left_ - work, kMinWork);
      }
    }
    std::size_t at = std::max(from_, before_due_);
    for (; at + 1 < free_.size(); ++at) {
      const int used = widest(at);
      const int before = free_[at].gpus;
      take(at, gpus(used));
      if (used == kNone) {
        continue;
      }
      const WholeSeconds start = free_[at].from;
      const double work = static_cast<double>(free_[at + 1].from - start) * speed(used);
      if (work >= left_) {
        finish_late(start, used, before);
        return;
      }
      left_ -= work;
    }
    run_out(at, top);
  }

  // Behind the last breakpoint the whole cluster is free.
  void run_out(std::size_t at, int top) {
    int level = top;
    while (demand_.first > 0 && gpus(level) > demand_.first) {
      --level;
    }
    share_[at] = gpus(level);
    free_[at].gpus = frame_.gpus - gpus(level);
    finish_late(free_[at].from, level, frame_.gpus);
  }

  void finish_late(WholeSeconds start, int level, int gpus_after) {
    const WholeSeconds done = done_by(start, left_ / speed(level));
    finish(done, align_up(frame_.now, done, frame_.slot), gpus_after);
  }

  void finish(WholeSeconds real_end, WholeSeconds end, int gpus_after) {
    booking_.real_end = real_end;
    booking_.end = end;
    closing_gpus_ = gpus_after;
  }

  void write_steps() {
    booking_.steps.clear();
    for (std::size_t at = 0; at < free_.size(); ++at) {
      if (share_[at] != kNoStep) {
        booking_.steps.push_back(Step{.from = free_[at].from, .gpus = share_[at]});
      }
    }
  }

  // Gives the GPUs back at the end, unless a breakpoint there already says what is free.
  void close() {
    const std::size_t at = position(free_, booking_.end);
    if (!is_at(at, booking_.end)) {
      insert(at, Step{.from = booking_.end, .gpus = closing_gpus_});
    } else if (due_is_new_ && booking_.end == due_) {
      free_[at].gpus = closing_gpus_;
    }
  }

  const Demand& demand_;
  const Frame& frame_;
  Steps& free_;
  std::vector<int>& share_;   // Per step of free_: GPUs of this job, or kNoStep.
  std::vector<int>& widest_;  // Per step of free_: level that fits, looked up when needed.
  Booking& booking_;
  const WholeSeconds due_;      // The deadline in whole slots from now; past for a late job.
  bool due_is_new_ = false;     // We added the breakpoint `due_`.
  std::size_t before_due_ = 0;  // Steps before the deadline: also the position of `due_`.
  std::size_t from_ = 0;        // First step that is ours to fill.
  double left_;
  int closing_gpus_ = -1;  // Free GPUs from the end on.
};

}  // namespace

void fill(const Demand& demand, const Frame& frame, Steps& free, FillScratch& scratch,
          Booking& booking) {
  Fill(demand, frame, free, scratch, booking).run();
}

}  // namespace rubato::policy::artifact
