#include "rubato/cli/emulate_verb.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/emulated_speed.h"
#include "rubato/cli/exit_code.h"
#include "rubato/runtime/elastic_worker.h"
#include "rubato/runtime/worker_address.h"

namespace rubato {
namespace {

using EmulationClock = std::chrono::steady_clock;

constexpr std::size_t kEmulatedFloats = 64;  // A gradient, so that something is really exchanged.
constexpr std::uint64_t kEmulatedBatch = 4096;  // Enough that every worker has a part.

struct EmulateFlags {
  std::uint64_t steps = 0;
  std::vector<std::string> speeds{};
};

/// Has none beside its parameters.
class NoState final : public TrainingState {
 public:
  [[nodiscard]] Result<std::string> save() override { return std::string(); }
  [[nodiscard]] Status load(std::string_view /*bytes*/) override { return ok_status(); }
};

/// Says when the present step may end, so that sleeping too long once does not slow the job down.
class Pace {
 public:
  explicit Pace(EmulatedSpeeds speeds) : speeds_(std::move(speeds)) {}

  void wait(int workers) {
    const auto step = std::chrono::duration_cast<EmulationClock::duration>(
        std::chrono::duration<double>(1 / speed_at(speeds_, workers)));
    const auto now = EmulationClock::now();
    // A pause is not made up for.
    due_ = workers == workers_ && now < due_ + step ? due_ + step : now + step;
    workers_ = workers;
    std::this_thread::sleep_until(due_);
  }

 private:
  EmulatedSpeeds speeds_;
  int workers_ = 0;
  EmulationClock::time_point due_{};
};

int emulation_failure(const Error& error) {
  fmt::print(stderr, "rubato emulate: {}\n", error.message);
  return exit_code(error.code);
}

std::span<float> emulated_parameters(const Arena& arena) {
  const auto bytes = arena.parameters();
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};  // NOLINT
}

// Steps until all are done, or this worker is not needed any more.
int pretend(ElasticWorker& worker, std::uint64_t steps, Pace pace) {
  const std::span<float> parameters = emulated_parameters(worker.arena());
  while (true) {
    const auto task = worker.begin();
    if (!task) {
      return emulation_failure(task.error());
    }
    if (task->kind == StepKind::Leave) {
      return kExitOk;
    }
    if (task->cursor.step >= steps) {
      break;
    }
    pace.wait(task->size);
    for (std::size_t slot = 0; slot < task->shards.size(); ++slot) {
      std::ranges::fill(worker.arena().slot(slot), 1.0F);
    }
    const auto verdict = worker.reduce({.loss = 0});
    if (!verdict) {
      return emulation_failure(verdict.error());
    }
    if (*verdict == ReduceVerdict::Redo) {
      continue;
    }
    const std::span<float> gradient = worker.arena().slot(0);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i] += gradient[i];
    }
    if (Status committed = worker.commit(); !committed) {
      return emulation_failure(committed.error());
    }
  }
  const Status finished = worker.finish();
  return finished ? kExitOk : emulation_failure(finished.error());
}

int emulate(const EmulateFlags& flags) {
  auto speeds = parse_speeds(flags.speeds);
  if (!speeds) {
    return emulation_failure(speeds.error());
  }
  const auto address = worker_address();
  if (!address) {
    return emulation_failure(address.error());
  }
  NoState state;
  auto worker = ElasticWorker::join(
      {.address = *address,
       .layout = {.parameter_bytes = kEmulatedFloats * sizeof(float), .floats = kEmulatedFloats},
       .cut = {.samples = kEmulatedBatch, .batch = kEmulatedBatch}},
      state);
  if (!worker) {
    return emulation_failure(worker.error());
  }
  fmt::print(
      "EMULATED: this worker computes nothing; its steps take the time that the job "
      "declares\n");
  std::fflush(stdout);
  (*worker)->warm();
  return pretend(**worker, flags.steps, Pace(std::move(*speeds)));
}

}  // namespace

void add_emulate_verb(CLI::App& app, int& code) {
  CLI::App* verb = app.add_subcommand("emulate", "A worker of an emulated job")->group("");
  const auto flags = std::make_shared<EmulateFlags>();
  verb->add_option("--steps", flags->steps, "Of the job")->required();
  verb->add_option("--speed", flags->speeds, "Workers and steps per second, such as 4:12.5");
  verb->callback([flags, &code] { code = emulate(*flags); });
}

}  // namespace rubato
