#include "rubato/cli/train_script.h"

#include <set>

namespace rubato {

Result<TrainScript> TrainScript::parse(const TrainScriptTexts& texts) {
  TrainScript script;
  auto resizes = parse_resizes("--resize", texts.resize);
  if (!resizes) {
    return resizes.error();
  }
  script.resizes_ = std::move(*resizes);
  const auto add = [&](std::string_view flag, const std::string& text, int signal) -> Status {
    const auto faults = parse_faults(flag, text);
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

void TrainScript::on_step(std::uint64_t step, Conductor& conductor) {
  std::erase_if(signals_, [&](const SignalOrder& order) {
    if (order.fault.step > step) {
      return false;
    }
    if (const auto worker = conductor.worker_at(order.fault.worker)) {
      // Gone already: then there is nothing left to disturb.
      [[maybe_unused]] const Status sent = conductor.signal(*worker, order.signal);
    }
    return true;
  });
  std::erase_if(resizes_, [&](const ScriptedResize& resize) {
    if (resize.step > step) {
      return false;
    }
    conductor.resize(resize.workers);
    return true;
  });
}

}  // namespace rubato
