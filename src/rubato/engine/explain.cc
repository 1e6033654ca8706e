#include "rubato/engine/explain.h"

#include <algorithm>

#include <fmt/core.h>

namespace rubato {
namespace {

// "12.5 min", for people.
std::string span_text(Duration span) {
  const double seconds = to_seconds(span);
  if (seconds < 120) {
    return fmt::format("{:.0f} s", seconds);
  }
  return seconds < 7200 ? fmt::format("{:.1f} min", seconds / 60)
                        : fmt::format("{:.1f} h", seconds / 3600);
}

int free_gpus(const EngineState& state) {
  int free = 0;
  for (std::size_t pool = 0; pool < state.capacity.size(); ++pool) {
    free += state.capacity[pool] - state.used[pool];
  }
  return free;
}

// The quickest the job could be done on the empty cluster; kLongest if nowhere.
Duration alone(const EngineState& state, SpeedId speed, double work) {
  Duration best = kLongest;
  for (const Pool& pool : state.topology.pools()) {
    const ScalingCurve& curve = state.speeds.curve(speed, pool.id);
    if (!curve.empty()) {
      best = std::min(best, from_seconds_up(work / curve.peak().speed));
    }
  }
  return best;
}

std::string remedy_for(Reason reason) {
  switch (reason) {
    case Reason::UnknownSpeed:
      return "Measure the model on a GPU type of this cluster, or allow another type.";
    case Reason::TooWide:
      return "Allow fewer workers.";
    case Reason::DeadlinePassed:
    case Reason::DeadlineTooSoon:
      return "A later deadline, less work, or best effort.";
    case Reason::PromisesInTheWay:
    case Reason::ResizeCostInTheWay:
      return "A later deadline, more GPUs, or best effort; ask for a quote to see how much.";
    case Reason::BatchRefused:
    case Reason::LateJobVeto:
      return "Submit it again on its own.";
    case Reason::WaitingForGpus:
      return "It starts when jobs ahead of it finish or shrink; more GPUs would start it sooner.";
    case Reason::WaitingForTurn:
      return "An earlier deadline, if it is needed earlier.";
    case Reason::NodesDown:
      return "The nodes' return; it is planned anew on the others meanwhile.";
    case Reason::None:
      break;
  }
  return {};
}

}  // namespace

void Refusals::add(const Job& job, const Verdict& verdict) {
  const auto place =
      std::ranges::upper_bound(entries_, job.id, {}, [](const Entry& each) { return each.job.id; });
  entries_.insert(place, Entry{.job = job, .verdict = verdict});
  if (entries_.size() > kKept) {
    entries_.pop_front();
  }
}

const Refusals::Entry* Refusals::entry(JobId job) const {
  const auto found =
      std::ranges::lower_bound(entries_, job, {}, [](const Entry& each) { return each.job.id; });
  return found != entries_.end() && found->job.id == job ? &*found : nullptr;
}

const Verdict* Refusals::find(JobId job) const {
  const Entry* found = entry(job);
  return found == nullptr ? nullptr : &found->verdict;
}

const Job* Refusals::job(JobId job) const {
  const Entry* found = entry(job);
  return found == nullptr ? nullptr : &found->job;
}

Explanation explain_active(const EngineState& state, const JobState& job, Instant now) {
  Explanation answer{.job = job.id(), .standing = job.share > 0 ? "running" : "waiting"};
  if (job.share > 0) {
    answer.binding = fmt::format("{} workers, {:.0f} of {:.0f} steps done", job.share,
                                 job.progress.at(now), job.job.work);
    const Instant finish = job.progress.finish(job.job.work);
    if (finish != kNever) {
      answer.binding += fmt::format(", done in {} at this pace", span_text(finish - now));
    }
    return answer;
  }
  answer.reason = job.reason;
  if (!job.plan.empty() && job.plan.segments.front().from > now) {
    answer.reason = Reason::WaitingForTurn;
    answer.binding = fmt::format("planned to start in {} with {} workers",
                                 span_text(job.plan.segments.front().from - now),
                                 job.plan.segments.front().workers);
  } else {
    answer.binding = fmt::format("{} of {} GPUs are free, {} active jobs", free_gpus(state),
                                 state.topology.gpus(), state.jobs.size());
  }
  answer.remedy = remedy_for(answer.reason);
  return answer;
}

Explanation explain_refusal(const EngineState& state, const Job& job, const Verdict& verdict) {
  Explanation answer{.job = job.id,
                     .standing = "refused",
                     .reason = verdict.reason,
                     .binding = std::string(sentence(verdict.reason)),
                     .remedy = remedy_for(verdict.reason)};
  SpeedBook speeds = state.speeds;
  const Duration quickest = alone(state, speeds.resolve(job), job.work);
  if (job.has_deadline() && quickest < kLongest) {
    answer.binding += fmt::format(" It has {} until its deadline and needs at least {} alone.",
                                  span_text(job.deadline - job.arrival), span_text(quickest));
  }
  return answer;
}

}  // namespace rubato
