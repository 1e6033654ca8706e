#include "rubato/launch/torchrun_environment.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/launch/process/process_scene_test.h"

namespace rubato {
namespace {

TEST(TorchrunEnvironment, SaysWhereTheWorkerStands) {
  const Environment environment = torchrun_environment({.rank = 5,
                                                        .local_rank = 1,
                                                        .world_size = 8,
                                                        .local_world_size = 4,
                                                        .group_rank = 1,
                                                        .group_world_size = 2,
                                                        .master_address = "10.0.0.1",
                                                        .master_port = 4711,
                                                        .run_id = "job-3",
                                                        .restart_count = 2,
                                                        .restarts_max = 3,
                                                        .error_file = "/tmp/error.json",
                                                        .threads = 6});

  EXPECT_THAT(assignments(environment),
              testing::ElementsAre(
                  "GROUP_RANK=1", "GROUP_WORLD_SIZE=2", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4",
                  "MASTER_ADDR=10.0.0.1", "MASTER_PORT=4711", "NCCL_ASYNC_ERROR_HANDLING=1",
                  "OMP_NUM_THREADS=6", "RANK=5", "ROLE_NAME=default", "ROLE_RANK=5",
                  "ROLE_WORLD_SIZE=8", "TORCHELASTIC_ERROR_FILE=/tmp/error.json",
                  "TORCHELASTIC_MAX_RESTARTS=3", "TORCHELASTIC_RESTART_COUNT=2",
                  "TORCHELASTIC_RUN_ID=job-3", "TORCHELASTIC_USE_AGENT_STORE=False",
                  "TORCH_NCCL_ASYNC_ERROR_HANDLING=1", "WORLD_SIZE=8"));
}

TEST(TorchrunEnvironment, LeavesOutWhatIsNotDecided) {
  const Environment environment = torchrun_environment({});

  EXPECT_FALSE(environment.contains("OMP_NUM_THREADS"));
  EXPECT_FALSE(environment.contains("TORCHELASTIC_ERROR_FILE"));
}

// Reads the names out of torch's own text, without importing it.
constexpr const char* kNamesOfTorch = R"(
import ast, importlib.util, os, sys
torch = importlib.util.find_spec("torch")
if torch is None:
    sys.exit(9)
folder = os.path.join(os.path.dirname(torch.origin), "distributed", "elastic")
names = set()
with open(os.path.join(folder, "agent", "server", "local_elastic_agent.py")) as file:
    for node in ast.walk(ast.parse(file.read())):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "worker_env":
            names |= {key.value for key in node.value.keys}
print(" ".join(sorted(names)))
)";

TEST(TorchrunEnvironment, HasEveryNameThatTorchrunSets) {
  TestPipe pipe;
  auto python = Process::start(
      {.argv = {"/usr/bin/python3", "-c", kNamesOfTorch}, .output = pipe.write_end.get()});
  if (!python.ok()) {
    GTEST_SKIP() << python.error().message;
  }
  std::istringstream names(pipe.read_all());
  if (wait_exit(*python).code == 9) {
    GTEST_SKIP() << "torch is not installed";
  }

  const Environment environment = torchrun_environment({});

  int count = 0;
  for (std::string name; names >> name; ++count) {
    EXPECT_TRUE(environment.contains(name)) << name;
  }
  EXPECT_GE(count, 15);
}

}  // namespace
}  // namespace rubato
