#include "rubato/engine/state.h"

namespace rubato {

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
    commands.emplace_back(Answer{.verdict = verdict});
  }
}

}  // namespace rubato
