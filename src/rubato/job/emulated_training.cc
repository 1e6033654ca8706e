#include "rubato/job/emulated_training.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <span>
#include <string>

#include <fmt/format.h>

namespace rubato {
namespace {

constexpr std::size_t kEmulatedFloats = 64;  // A gradient, so that something is really exchanged.
constexpr std::uint64_t kEmulatedBatch = 4096;  // Enough that every worker has a part.
constexpr double kPauseMax = 3600;
constexpr std::chrono::system_clock::duration kDecidedMax = std::chrono::seconds(10);

std::span<float> emulated_parameters(const Arena& arena) {
  const auto bytes = arena.parameters();
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};  // NOLINT
}

Error bad_pause(const std::string& text) {
  return bad_input(fmt::format("{}: found '{}', expected seconds from 0 to {:.0f}",
                               kEmulatedPauseVariable, text, kPauseMax));
}

}  // namespace

Result<std::chrono::steady_clock::duration> emulated_pause(const Environment& environment) {
  const auto found = environment.find(kEmulatedPauseVariable);
  if (found == environment.end()) {
    return std::chrono::steady_clock::duration{};
  }
  try {
    std::size_t end = 0;
    const double seconds = std::stod(found->second, &end);
    if (end != found->second.size() || !(seconds >= 0) || seconds > kPauseMax) {
      return bad_pause(found->second);
    }
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(seconds));
  } catch (const std::exception&) {
    return bad_pause(found->second);
  }
}

std::chrono::steady_clock::time_point decided_at(const wire::ConductOrder& order) {
  using std::chrono::system_clock;
  const system_clock::time_point decided{std::chrono::microseconds(order.run().decided_us())};
  // Clocks jump, and orders are found again after a long time: neither is a head start.
  const auto age = std::clamp(system_clock::now() - decided, system_clock::duration{}, kDecidedMax);
  return std::chrono::steady_clock::now() - age;
}

Result<std::unique_ptr<ElasticWorker>> join_emulated(const WorkerAddress& address,
                                                     EmulatedState& state) {
  return ElasticWorker::join(
      {.address = address,
       .layout = {.parameter_bytes = kEmulatedFloats * sizeof(float), .floats = kEmulatedFloats},
       .cut = {.samples = kEmulatedBatch, .batch = kEmulatedBatch}},
      state);
}

Status train_emulated(ElasticWorker& worker, std::uint64_t steps, EmulatedPace& pace,
                      const EmulatedWait& wait) {
  const std::span<float> parameters = emulated_parameters(worker.arena());
  while (true) {
    const auto task = worker.begin();
    if (!task) {
      return task.error();
    }
    if (task->kind == StepKind::Leave) {
      return ok_status();
    }
    if (task->cursor.step >= steps) {
      return worker.finish();
    }
    const auto due =
        pace.due({.generation = task->generation, .step = task->cursor.step, .workers = task->size},
                 EmulatedPace::Clock::now());
    if (!wait(due)) {
      return Error{.code = ErrorCode::Io, .message = "killed"};
    }
    for (std::size_t slot = 0; slot < task->shards.size(); ++slot) {
      std::ranges::fill(worker.arena().slot(slot), 1.0F);
    }
    const auto verdict = worker.reduce({.loss = 0});
    if (!verdict) {
      return verdict.error();
    }
    if (*verdict == ReduceVerdict::Redo) {
      continue;
    }
    const std::span<float> gradient = worker.arena().slot(0);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i] += gradient[i];
    }
    if (Status committed = worker.commit(); !committed) {
      return committed;
    }
  }
}

}  // namespace rubato
