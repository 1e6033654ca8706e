// What the workers of a job see, whatever its kind.
#include "rubato/job/conducted_job.h"
#include "rubato/job/worker_environment.h"

namespace rubato {

Environment job_environment(const wire::ConductOrder& order, const ConductFiles& files) {
  const wire::JobSpec& spec = order.run().spec();
  Environment environment = worker_environment();
  environment.erase("RUBATO_TOKEN");  // The agent's own; not for users' programs.
  if (order.threads() > 0) {
    environment["OMP_NUM_THREADS"] = std::to_string(order.threads());
  }
  for (const auto& [name, value] : spec.environment()) {
    environment[name] = value;
  }
  environment = with_python_hook(std::move(environment));
  const int most = spec.workers().max() > 0 ? spec.workers().max() : order.run().slots_size();
  return overridden(std::move(environment),
                    {{"RUBATO_JOB_ID", order.run().job()},
                     {"RUBATO_JOB_NAME", spec.name()},
                     {"RUBATO_JOB_DIRECTORY", files.directory()},
                     {"RUBATO_DEADLINE", spec.deadline()},
                     {"RUBATO_CHECKPOINT_DIR", files.checkpoints()},
                     {"RUBATO_PROGRESS_FILE", files.progress()},
                     {"RUBATO_PREEMPT_FILE", files.notice()},
                     {"RUBATO_MIN_WORKERS", std::to_string(std::max(1, spec.workers().min()))},
                     {"RUBATO_MAX_WORKERS", std::to_string(most)},
                     {"RUBATO_GLOBAL_BATCH", std::to_string(spec.batch())}});
}

std::string job_directory(const wire::JobSpec& spec, const ConductFiles& files) {
  return spec.working_directory().empty() ? files.work() : spec.working_directory();
}

}  // namespace rubato
