#include "rubato/engine/state/state.h"

namespace rubato {
namespace {

// What the owner is told: the deadline it asked for, though plans may keep an earlier one.
Verdict as_asked(const EngineState& state, Verdict verdict) {
  const JobState* job = state.jobs.find(verdict.job);
  if (job != nullptr && job->quote.is_kept() && verdict.promised != kNever) {
    verdict.promised = job->quote.asked;
    verdict.quoted = job->quote.finish;
  }
  return verdict;
}

}  // namespace

void admit(EngineState& state, const std::vector<Verdict>& verdicts, Commands& commands) {
  for (const Verdict& verdict : verdicts) {
    JobState& job = state.jobs.at(verdict.job);
    switch (verdict.kind) {
      case VerdictKind::Admit:
        job.admitted = true;
        job.promised = verdict.promised;
        break;
      case VerdictKind::Demote:
        job.admitted = true;
        job.job_class = JobClass::BestEffort;
        job.promised = kNever;
        job.reason = verdict.reason;
        break;
      case VerdictKind::Defer:
      case VerdictKind::Offer:
        job.reason = verdict.reason;
        break;
      case VerdictKind::Refuse:
        state.jobs.erase(verdict.job);
        state.goodputs.leave(verdict.job);
        break;
    }
    commands.emplace_back(Answer{.verdict = as_asked(state, verdict)});
  }
}

}  // namespace rubato
