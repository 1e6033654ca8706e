#include "rubato/sim/recorder.h"

#include <utility>

#include "rubato/sim/workload.h"

namespace rubato {

Recorder::Recorder(const std::vector<Job>& jobs, const Topology& topology, bool keep_bars)
    : keep_bars_(keep_bars), live_(jobs.size()) {
  history_.jobs.resize(jobs.size());
  history_.start = jobs.empty() ? Instant{} : jobs.front().arrival;
  use_.gpus_up = topology.gpus();
  use_.at = history_.start;
  if (keep_bars_) {
    for (const Job& job : jobs) {
      history_.names.push_back(job.name);
    }
  }
}

void Recorder::arrive(const Job& job, SpeedId speed, const SpeedBook& speeds,
                      const Topology& topology) {
  const Alone isolated = alone(job, speed, speeds, topology);
  history_.jobs[job.id.value] = JobRecord{.id = job.id,
                                          .job_class = job.job_class,
                                          .arrival = job.arrival,
                                          .deadline = job.deadline,
                                          .feasible_alone = isolated.feasible(job),
                                          .alone_seconds = to_seconds(isolated.span),
                                          .requested_seconds = to_seconds(isolated.requested),
                                          .requested = job.requested,
                                          .value_offered = job.value.at(Duration{})};
  live_[job.id.value].speed = speed;
  ++use_.waiting;
  changed_ = true;
}

void Recorder::answer(const Verdict& verdict) {
  JobRecord& record = history_.jobs[verdict.job.value];
  switch (verdict.kind) {
    case VerdictKind::Admit:
      record.admitted = true;
      record.promised = verdict.promised;
      record.quoted = verdict.quoted;
      break;
    case VerdictKind::Demote:
      record.admitted = true;
      break;
    case VerdictKind::Refuse:
      record.refused = true;
      record.reason = verdict.reason;
      --use_.waiting;
      changed_ = true;
      break;
    case VerdictKind::Defer:
    case VerdictKind::Offer:
      break;
  }
}

void Recorder::leave(Instant now, JobId job) {
  Live& live = live_[job.value];
  if (live.share == 0) {
    return;
  }
  history_.jobs[job.value].gpu_seconds += to_seconds(now - live.since) * live.share;
  use_.gpus_used -= live.share;
  use_.speedup -= live.speedup;
  --use_.running;
  if (keep_bars_ && now > live.since) {
    history_.bars.push_back(GanttBar{
        .job = job, .from = live.since, .to = now, .placement = std::move(live.placement)});
  }
  live.share = 0;
  changed_ = true;
}

void Recorder::run(Instant now, const Run& command, const SpeedBook& speeds) {
  JobRecord& record = history_.jobs[command.job.value];
  Live& live = live_[command.job.value];
  const int before = live.share;
  const int workers = command.placement.gpus();
  if (before > 0) {
    ++(before == workers ? record.migrations : record.resizes);
  } else {
    --use_.waiting;
    record.restarts += record.first_start == kNever ? 0 : 1;
  }
  if (record.first_start == kNever) {
    record.first_start = now;
  }
  leave(now, command.job);
  const ScalingCurve& curve = speeds.curve(live.speed, command.placement.pool);
  const double single = curve.speed(1);
  live.placement = command.placement;
  live.share = workers;
  live.since = now;
  live.speedup = single > 0 ? curve.speed(workers) / single : 0;
  use_.gpus_used += workers;
  use_.speedup += live.speedup;
  ++use_.running;
  changed_ = true;
}

void Recorder::suspend(Instant now, JobId job) {
  leave(now, job);
  ++use_.waiting;
}

void Recorder::complete(Instant now, const Job& job) {
  leave(now, job.id);
  JobRecord& record = history_.jobs[job.id.value];
  record.finish = now;
  record.value = job.value.at(now - job.arrival);
}

void Recorder::nodes(Instant, int gpus_up) {
  use_.gpus_up = gpus_up;
  changed_ = true;
}

void Recorder::end_of_event(Instant now) {
  if (!changed_) {
    return;
  }
  changed_ = false;
  if (use_.running == 0) {
    use_.speedup = 0;  // Sheds the rounding of many additions.
  }
  use_.at = now;
  if (!history_.use.empty() && history_.use.back().at == now) {
    history_.use.back() = use_;
  } else {
    history_.use.push_back(use_);
  }
}

History Recorder::finish(Instant end) {
  for (std::size_t i = 0; i < live_.size(); ++i) {
    leave(end, JobId{i});
  }
  history_.end = end;
  return std::move(history_);
}

}  // namespace rubato
