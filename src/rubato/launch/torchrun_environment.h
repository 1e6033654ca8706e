// What torchrun puts into the environment of a worker, for programs that do not use our runtime.
//
// Names and values are those of torch 1.13 (LocalElasticAgent._start_workers). Two additions: the
// name that newer releases read for NCCL's error handling, and OMP_NUM_THREADS from the worker's
// CPU share where torchrun says 1.
#pragma once

#include <string>

#include "rubato/launch/environment.h"

namespace rubato {

/// The place of one worker in its job. A group is the workers of one node.
struct TorchrunWorker {
  int rank = 0;
  int local_rank = 0;
  int world_size = 1;
  int local_world_size = 1;
  int group_rank = 0;
  int group_world_size = 1;
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  std::string run_id = "none";
  int restart_count = 0;
  int restarts_max = 0;
  std::string error_file{};  // Where the worker may write its exception as JSON; empty: nowhere.
  int threads = 0;           // 0: the program decides.
};

[[nodiscard]] Environment torchrun_environment(const TorchrunWorker& worker);

}  // namespace rubato
