// What a worker of an emulated job does: its steps take the time that the job declares, and really
// exchange gradients.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "rubato/base/result.h"
#include "rubato/job/emulated_pace.h"
#include "rubato/launch/environment.h"
#include "rubato/runtime/worker/elastic_worker.h"
#include "rubato/wire/conduct.pb.h"

namespace rubato {

/// Said once by whatever runs such workers.
inline constexpr const char* kEmulatedNotice =
    "EMULATED: nothing is computed; steps take the time that the job declares";

/// What the job declares that a start and each change of workers costs; zero if nothing.
inline constexpr const char* kEmulatedPauseVariable = "RUBATO_EMULATED_PAUSE";

/// In seconds, from an environment; an error if it is no such number.
[[nodiscard]] Result<std::chrono::steady_clock::duration> emulated_pause(
    const Environment& environment);

/// When an order was decided, on our clock.
[[nodiscard]] std::chrono::steady_clock::time_point decided_at(const wire::ConductOrder& order);

/// Waits until then; false: the worker is to end at once.
using EmulatedWait = std::function<bool(std::chrono::steady_clock::time_point moment)>;

/// Has none beside its parameters.
class EmulatedState final : public TrainingState {
 public:
  [[nodiscard]] Result<std::string> save() override { return std::string(); }
  [[nodiscard]] Status load(std::string_view /*bytes*/) override { return ok_status(); }
};

/// Joins the job. `state` must outlive the worker.
[[nodiscard]] Result<std::unique_ptr<ElasticWorker>> join_emulated(const WorkerAddress& address,
                                                                   EmulatedState& state);

/// Steps until all are done, or this worker is not needed any more.
[[nodiscard]] Status train_emulated(ElasticWorker& worker, std::uint64_t steps, EmulatedPace& pace,
                                    const EmulatedWait& wait);

}  // namespace rubato
