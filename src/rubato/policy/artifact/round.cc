#include "rubato/policy/artifact/round.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace rubato::policy::artifact {
namespace {

// Lays all jobs onto the empty cluster, earliest deadline first; false if any would be late. All
// are planned even so.
bool plan_all(Books& books, const Frame& frame, Steps& free) {
  std::ranges::stable_sort(books, {}, &BookedJob::deadline);
  free.assign(1, Step{.from = frame.now, .gpus = frame.gpus});
  FillScratch scratch;
  Booking booking;
  bool all_in_time = true;
  for (BookedJob& job : books) {
    fill(Demand{.levels = job.levels, .left = job.left, .deadline = job.deadline}, frame, free,
         scratch, booking);
    merge(free);
    merge(booking.steps);
    job.steps = booking.steps;
    job.end = booking.end;
    job.real_end = booking.real_end;
    job.gpus = job.steps.front().gpus;
    all_in_time = all_in_time && !job.is_late();
  }
  return all_in_time;
}

bool is_feasible_alone(const BookedJob& job, const Frame& frame) {
  return !job.levels.empty() &&
         static_cast<double>(job.deadline - frame.now) >= job.left / job.levels.back().speed;
}

// Why one arrival of a refused batch was refused, beside admitted jobs that would be in time.
Reason why_refused(const BookedJob& job, const Books& admitted, const Frame& frame) {
  if (!is_feasible_alone(job, frame)) {
    return Reason::DeadlineTooSoon;
  }
  Books without_the_others = admitted;
  without_the_others.push_back(job);
  Steps free;
  return plan_all(without_the_others, frame, free) ? Reason::BatchRefused
                                                   : Reason::PromisesInTheWay;
}

}  // namespace

std::vector<Reason> admit(Books& books, std::span<const BookedJob> arrivals, const Frame& frame,
                          Steps& free) {
  std::vector<Reason> reasons(arrivals.size(), Reason::None);
  Books together = books;
  together.insert(together.end(), arrivals.begin(), arrivals.end());
  if (plan_all(together, frame, free)) {
    books = std::move(together);
    return reasons;
  }
  std::ranges::copy_if(arrivals, std::back_inserter(books), &BookedJob::is_best_effort);
  const bool is_vetoed = !plan_all(books, frame, free);
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    if (!arrivals[i].is_best_effort()) {
      reasons[i] = is_vetoed ? Reason::LateJobVeto : why_refused(arrivals[i], books, frame);
    }
  }
  return reasons;
}

void charge(Books& books, Groups& groups, const ResizeCost& costs) {
  std::ranges::stable_sort(books, std::greater{}, &BookedJob::gpus);
  const bool is_charged = costs.accounting() == ResizeCostModel::Artifact;
  const bool restarts = groups.begin_round(costs.rounds_between_restarts());
  for (BookedJob& job : books) {
    job.pause = 0;
    if (job.gpus > 0) {
      const bool known = groups.place(job.gpus);
      const Duration pause = costs.artifact(job.gpus, known, restarts);
      job.pause = is_charged ? std::chrono::floor<std::chrono::seconds>(pause).count() : 0;
      job.end += job.pause;
    }
  }
  groups.end_round();
}

}  // namespace rubato::policy::artifact
