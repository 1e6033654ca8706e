#include "rubato/policy/artifact/greedy.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "rubato/base/check.h"

namespace rubato::policy::artifact {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int next_level(const BookedJob& job) {
  const auto above = std::ranges::upper_bound(job.levels, job.gpus, {}, &ScalingPoint::workers);
  return above == job.levels.end() ? job.gpus : above->workers;
}

/// Lives for one call of hand_out().
class Greedy {
 public:
  Greedy(Books& books, const Frame& frame, Steps& free) : frame_(frame), free_(free) {
    for (BookedJob& job : books) {
      order_.push_back(&job);
      spare_ -= job.gpus;
      job.next_gpus = next_level(job);
    }
    spare_ += frame.gpus;
    RUBATO_CHECK(spare_ >= 0 && spare_ == free.front().gpus);
  }

  void run() {
    if (spare_ == 0) {
      return;
    }
    for (BookedJob* job : order_) {
      weigh(*job);
    }
    sort();
    while (spare_ > 0 && raise_one()) {
      for (BookedJob* job : order_) {
        if (job->next_gpus > job->gpus) {
          weigh(*job);
        }
      }
      sort();
    }
  }

  [[nodiscard]] Books sorted() const {
    Books books;
    books.reserve(order_.size());
    for (BookedJob* job : order_) {
      books.push_back(std::move(*job));
    }
    return books;
  }

 private:
  [[nodiscard]] bool can_rise(const BookedJob& job) const {
    return job.next_gpus > job.gpus && job.next_gpus - job.gpus <= spare_;
  }

  // The job's plan if it were raised: into booking_, and what it would leave free into left_free_.
  // Free GPUs after `until` are not looked at.
  void plan_raised(const BookedJob& job, WholeSeconds until) {
    give_back(free_, Held{.steps = job.steps, .end = job.end}, frame_.gpus, until, left_free_);
    fill(Demand{.levels = job.levels,
                .left = job.left,
                .deadline = job.deadline,
                .first = job.next_gpus},
         frame_, left_free_, scratch_, booking_);
  }

  // GPU-seconds more for each GPU more, if the job were raised.
  void weigh(BookedJob& job) {
    if (!can_rise(job)) {
      job.marginal = -kInfinity;
    } else if (job.gpus == 0) {
      job.marginal = kInfinity;
    } else {
      plan_raised(job, std::max(frame_.now, align_up(frame_.now, job.deadline, frame_.slot)));
      if (booking_.real_end > job.deadline) {
        plan_raised(job, kForever);  // Only a late plan reaches beyond the deadline.
      }
      const auto growth =
          gpu_seconds(booking_.steps, booking_.end) - gpu_seconds(job.steps, job.end);
      job.marginal = static_cast<double>(growth) / (job.next_gpus - job.gpus);
    }
  }

  void sort() { std::ranges::stable_sort(order_, std::greater{}, &BookedJob::marginal); }

  // Raises the first job that can rise; false if none can.
  bool raise_one() {
    const auto found =
        std::ranges::find_if(order_, [this](const BookedJob* job) { return can_rise(*job); });
    if (found == order_.end()) {
      return false;
    }
    BookedJob& job = **found;
    plan_raised(job, kForever);
    merge(left_free_);
    merge(booking_.steps);
    std::swap(free_, left_free_);
    std::swap(job.steps, booking_.steps);
    spare_ -= job.next_gpus - job.gpus;
    job.gpus = job.next_gpus;
    job.end = booking_.end;
    job.real_end = booking_.real_end;
    job.next_gpus = next_level(job);
    RUBATO_CHECK(free_.front().gpus == spare_);
    return true;
  }

  const Frame& frame_;
  Steps& free_;
  int spare_ = 0;
  std::vector<BookedJob*> order_;
  Steps left_free_;
  Booking booking_;
  FillScratch scratch_;
};

}  // namespace

void hand_out(Books& books, const Frame& frame, Steps& free) {
  Greedy greedy(books, frame, free);
  greedy.run();
  books = greedy.sorted();
}

}  // namespace rubato::policy::artifact
