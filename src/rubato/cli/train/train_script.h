// What a user has written down to happen to a job, carried out as the job gets there.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/cli/train/resize_script.h"
#include "rubato/launch/restarted_job.h"
#include "rubato/launch/training_run.h"

namespace rubato {

/// The texts of --resize, --kill and --stop.
struct TrainScriptTexts {
  std::string resize{};
  std::string kill{};
  std::string stop{};
};

/// A script on its way.
class TrainScript {
 public:
  /// `unit` is `step` or `second`.
  [[nodiscard]] static Result<TrainScript> parse(const TrainScriptTexts& texts,
                                                 std::string_view unit = "step");

  /// All steps at which something happens, rising.
  [[nodiscard]] std::vector<std::uint64_t> steps() const;
  /// Does what is due at a step, once.
  void on_step(std::uint64_t step, TrainingRun& run);
  void on_second(std::uint64_t second, RestartedJob& job);

 private:
  struct SignalOrder {
    ScriptedFault fault{};
    int signal = SIGKILL;
  };

  template <typename SendSignal, typename Resize>
  void carry_out(std::uint64_t moment, SendSignal send_signal, Resize resize);

  std::vector<ScriptedResize> resizes_{};
  std::vector<SignalOrder> signals_{};
};

}  // namespace rubato
