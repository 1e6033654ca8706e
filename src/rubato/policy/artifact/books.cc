#include "rubato/policy/artifact/books.h"

#include <algorithm>

namespace rubato::policy::artifact {
namespace {

// The first breakpoint of a plan after `now`; kForever if there is none.
WholeSeconds first_change(const BookedJob& job, WholeSeconds now) {
  const std::size_t at = position(job.steps, now + 1);
  return at < job.steps.size() ? job.steps[at].from : kForever;
}

}  // namespace

bool advance(BookedJob& job, WholeSeconds now, WholeSeconds elapsed, double speed) {
  if (job.gpus == 0) {
    return false;  // The end of a job that was never started passes unnoticed.
  }
  const WholeSeconds counted = elapsed - std::max<WholeSeconds>(now - job.real_end, 0);
  const double work = static_cast<double>(std::max<WholeSeconds>(counted - job.pause, 0)) * speed;
  const bool is_done = job.left <= work;
  job.left -= work;
  job.pause = 0;
  return is_done || job.end <= now;
}

WholeSeconds next_round(const Books& books, WholeSeconds now, WholeSeconds slot) {
  WholeSeconds end = kForever;
  WholeSeconds end_without_pause = kForever;
  WholeSeconds change = kForever;
  for (const BookedJob& job : books) {
    end = std::min(end, job.end);
    end_without_pause = std::min(end_without_pause, job.end - job.pause);
    change = std::min(change, first_change(job, now));
  }
  const WholeSeconds next = change < end_without_pause ? std::min(change, end) : end;
  return std::max(next, now + slot);
}

}  // namespace rubato::policy::artifact
