#include "rubato/launch/torchrun_environment.h"

namespace rubato {

Environment torchrun_environment(const TorchrunWorker& worker) {
  Environment environment{
      {"RANK", std::to_string(worker.rank)},
      {"LOCAL_RANK", std::to_string(worker.local_rank)},
      {"WORLD_SIZE", std::to_string(worker.world_size)},
      {"LOCAL_WORLD_SIZE", std::to_string(worker.local_world_size)},
      {"GROUP_RANK", std::to_string(worker.group_rank)},
      {"GROUP_WORLD_SIZE", std::to_string(worker.group_world_size)},
      // We know one role only, so ranks within the role are ranks within the job.
      {"ROLE_RANK", std::to_string(worker.rank)},
      {"ROLE_WORLD_SIZE", std::to_string(worker.world_size)},
      {"ROLE_NAME", "default"},
      {"MASTER_ADDR", worker.master_address},
      {"MASTER_PORT", std::to_string(worker.master_port)},
      {"TORCHELASTIC_RUN_ID", worker.run_id},
      {"TORCHELASTIC_RESTART_COUNT", std::to_string(worker.restart_count)},
      {"TORCHELASTIC_MAX_RESTARTS", std::to_string(worker.restarts_max)},
      // Rank 0 serves the store itself: there is no agent that does.
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},
      {"NCCL_ASYNC_ERROR_HANDLING", "1"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
  };
  if (!worker.error_file.empty()) {
    environment["TORCHELASTIC_ERROR_FILE"] = worker.error_file;
  }
  if (worker.threads > 0) {
    environment["OMP_NUM_THREADS"] = std::to_string(worker.threads);
  }
  return environment;
}

}  // namespace rubato
