#include "rubato/cli/train/train_script.h"

#include <set>

namespace rubato {

Result<TrainScript> TrainScript::parse(const TrainScriptTexts& texts, std::string_view unit) {
  TrainScript script;
  auto resizes = parse_resizes("--resize", texts.resize, unit);
  if (!resizes) {
    return resizes.error();
  }
  script.resizes_ = std::move(*resizes);
  const auto add = [&](std::string_view flag, const std::string& text, int signal) -> Status {
    const auto faults = parse_faults(flag, text, unit);
    if (!faults) {
      return faults.error();
    }
    for (const ScriptedFault& fault : *faults) {
      script.signals_.push_back({.fault = fault, .signal = signal});
    }
    return ok_status();
  };
  if (Status status = add("--kill", texts.kill, SIGKILL); !status) {
    return status.error();
  }
  if (Status status = add("--stop", texts.stop, SIGSTOP); !status) {
    return status.error();
  }
  return script;
}

std::vector<std::uint64_t> TrainScript::steps() const {
  std::set<std::uint64_t> steps;
  for (const ScriptedResize& resize : resizes_) {
    steps.insert(resize.step);
  }
  for (const SignalOrder& order : signals_) {
    steps.insert(order.fault.step);
  }
  return {steps.begin(), steps.end()};
}

// Everything that is due, once, in the order: faults, then sizes.
template <typename SendSignal, typename Resize>
void TrainScript::carry_out(std::uint64_t moment, SendSignal send_signal, Resize resize) {
  std::erase_if(signals_, [&](const SignalOrder& order) {
    const bool is_due = order.fault.step <= moment;
    if (is_due) {
      // Gone already: then there is nothing left to disturb.
      [[maybe_unused]] const Status sent = send_signal(order.fault.worker, order.signal);
    }
    return is_due;
  });
  std::erase_if(resizes_, [&](const ScriptedResize& order) {
    const bool is_due = order.step <= moment;
    if (is_due) {
      resize(order.workers);
    }
    return is_due;
  });
}

void TrainScript::on_step(std::uint64_t step, TrainingRun& run) {
  carry_out(
      step,
      [&](int rank, int signal) {
        const auto worker = run.worker_at(rank);
        return worker ? run.signal(*worker, signal) : ok_status();
      },
      [&](int workers) { run.resize(workers); });
}

void TrainScript::on_second(std::uint64_t second, RestartedJob& job) {
  carry_out(
      second, [&](int rank, int signal) { return job.signal(rank, signal); },
      [&](int workers) { job.resize(workers); });
}

}  // namespace rubato
