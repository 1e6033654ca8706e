// How long a script that imports torch takes to its first line, cold and from a warm interpreter.
// Skipped where the system's Python has no torch.
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <poll.h>
#include <string>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "rubato/launch/local/local_launcher.h"

namespace rubato {
namespace {

constexpr const char* kScript = "import torch\nprint('first line', flush=True)\n";

// A launcher whose only worker's lines can be read from a pipe.
struct BenchStage {
  explicit BenchStage(bool is_warm)
      : folder(std::filesystem::temp_directory_path() /
               ("rubato_warm_start_bench." + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "script.py") << kScript;
    auto opened = LocalLauncher::open({.log_folder = folder.string(), .starts_warm = is_warm});
    launcher = opened.ok() ? std::move(*opened) : nullptr;
  }
  BenchStage(const BenchStage&) = delete;
  BenchStage& operator=(const BenchStage&) = delete;
  ~BenchStage() { std::filesystem::remove_all(folder); }

  // Starts a worker, returns when its first line is there; false if it failed.
  bool run_to_first_line() {
    ++worker.value;
    const Status started = launcher->start(
        {.worker = worker,
         .argv = {"/usr/bin/python3", "script.py"},
         .environment = overridden(inherited_environment(), {{"OMP_NUM_THREADS", "1"}}),
         .directory = folder.string()});
    const std::string log = (folder / ("worker-" + std::to_string(worker.value) + ".log")).string();
    while (started.ok()) {
      step();
      if (std::filesystem::file_size(log) > 0) {
        return true;
      }
      if (has_ended) {
        return false;
      }
    }
    return false;
  }

  void step() {
    pollfd watched{.fd = launcher->descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&watched, 1, -1);
    for (const WorkerEnd& end : launcher->ended()) {
      has_ended = true;
      is_fine = is_fine && end.cause.kind == ExitKind::Finished;
    }
  }

  bool run_to_end() {
    while (!has_ended) {
      step();
    }
    has_ended = false;
    return is_fine;
  }

  std::filesystem::path folder;
  std::unique_ptr<LocalLauncher> launcher;
  WorkerId worker{};
  bool has_ended = false;
  bool is_fine = true;
};

void first_line(benchmark::State& state, bool is_warm) {
  BenchStage stage(is_warm);
  // The first start also loads the interpreter; it is what the others are spared.
  if (!stage.launcher || !stage.run_to_first_line() || !stage.run_to_end()) {
    state.SkipWithError("the system's Python cannot import torch");
    return;
  }
  for ([[maybe_unused]] auto _ : state) {
    stage.run_to_first_line();
    state.PauseTiming();
    stage.run_to_end();
    state.ResumeTiming();
  }
}

BENCHMARK_CAPTURE(first_line, cold, false)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(first_line, warm, true)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace rubato
