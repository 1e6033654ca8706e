#include "rubato/engine/answers/explain.h"

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

int sum(const std::vector<int>& gpus) {
  int total = 0;
  for (const int each : gpus) {
    total += each;
  }
  return total;
}

int largest_pool(const Topology& topology) {
  int most = 0;
  for (const Pool& pool : topology.pools()) {
    most = std::max(most, pool.gpus);
  }
  return most;
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
    case Reason::PriceTooHigh:
      return "A higher value, less work, or submit it again when the cluster is less busy.";
    case Reason::WaitingForGpus:
      return "It starts when jobs ahead of it finish or shrink; more GPUs would start it sooner.";
    case Reason::WaitingForTurn:
      return "An earlier deadline, if it is needed earlier.";
    case Reason::NodesDown:
      return "The nodes' return; it is planned anew on the others meanwhile.";
    case Reason::QuotaFull:
      return "It starts when its tenant's other jobs finish; fewer workers, a larger share for the "
             "tenant, or best effort.";
    case Reason::PriceDeclined:
      return "Submit it again later: prices change.";
    case Reason::None:
      break;
  }
  return {};
}

std::string running_text(const JobState& job, Instant now) {
  std::string text = fmt::format("{} workers, {:.0f} of {:.0f} steps done", job.share,
                                 std::min(job.progress.at(now), job.job.work), job.job.work);
  const Instant finish = job.progress.finish(job.job.work);
  if (finish != kNever) {
    text += fmt::format(", done in {} at this pace", span_text(std::max(finish, now) - now));
  }
  return text;
}

// The next stretch of a plan that has no workers for the job now; null if there is none.
const PlanSegment* next_turn(const Plan& plan, Instant now) {
  const auto next = std::ranges::find_if(
      plan.segments, [now](const PlanSegment& segment) { return segment.to > now; });
  return next != plan.segments.end() && next->from > now ? &*next : nullptr;
}

std::string waiting_text(const EngineState& state, Reason reason) {
  const int up = sum(state.capacity);
  if (reason == Reason::NodesDown) {
    return fmt::format("{} of {} GPUs are up, {} of them free", up, state.topology.gpus(),
                       up - sum(state.used));
  }
  return fmt::format("{} of {} GPUs are free, {} active jobs", up - sum(state.used), up,
                     state.jobs.size());
}

// The numbers behind a refusal.
std::string refusal_text(const EngineState& state, const Job& job, Reason reason) {
  if (reason == Reason::UnknownSpeed) {
    return fmt::format("Its model is '{}' at batch {}, its GPU type '{}'.", job.model, job.batch,
                       job.gpu_type.empty() ? "any" : job.gpu_type);
  }
  if (reason == Reason::TooWide) {
    const WorkerCounts& counts = job.workers;
    return fmt::format("It accepts no fewer than {} workers; the largest pool has {} GPUs.",
                       counts.listed.empty() ? counts.min : counts.listed.front(),
                       largest_pool(state.topology));
  }
  if (!job.has_deadline()) {
    return {};
  }
  const Duration needed = quickest_run(state, state.speeds.find(job), job.work);
  const std::string needs = needed < kLongest
                                ? fmt::format("needs at least {} alone", span_text(needed))
                                : std::string("can run nowhere");
  return job.deadline < job.arrival
             ? fmt::format("Its deadline was {} before it arrived and it {}.",
                           span_text(job.arrival - job.deadline), needs)
             : fmt::format("It had {} until its deadline and {}.",
                           span_text(job.deadline - job.arrival), needs);
}

}  // namespace

void Refusals::add(const Job& job, const Verdict& verdict) {
  const auto place =
      std::ranges::lower_bound(entries_, job.id, {}, [](const Entry& each) { return each.job.id; });
  if (place != entries_.end() && place->job.id == job.id) {
    *place = Entry{.job = job, .verdict = verdict};
    return;
  }
  entries_.insert(place, Entry{.job = job, .verdict = verdict});
  if (entries_.size() > kKept) {
    entries_.pop_front();
  }
}

const Refusals::Entry* Refusals::find(JobId job) const {
  const auto found =
      std::ranges::lower_bound(entries_, job, {}, [](const Entry& each) { return each.job.id; });
  return found != entries_.end() && found->job.id == job ? &*found : nullptr;
}

Explanation explain_active(const EngineState& state, const JobState& job, Instant now) {
  Explanation answer{.job = job.id(), .standing = job.share > 0 ? "running" : "waiting"};
  if (job.share > 0) {
    answer.binding = running_text(job, now);
    return answer;
  }
  answer.reason = job.reason;
  if (const PlanSegment* next = next_turn(job.plan, now)) {
    answer.reason = Reason::WaitingForTurn;
    answer.binding = fmt::format("planned to start in {} with {} workers",
                                 span_text(next->from - now), next->workers);
  } else {
    answer.binding = waiting_text(state, answer.reason);
  }
  answer.remedy = remedy_for(answer.reason);
  return answer;
}

Explanation explain_refusal(const EngineState& state, const Refusals::Entry& refused) {
  const Reason reason = refused.verdict.reason;
  const std::string numbers = refusal_text(state, refused.job, reason);
  return Explanation{
      .job = refused.job.id,
      .standing = "refused",
      .reason = reason,
      .binding = std::string(sentence(reason)) + (numbers.empty() ? "" : " ") + numbers,
      .remedy = remedy_for(reason)};
}

}  // namespace rubato
