// The scheduler as a pure, deterministic state machine: events in, commands out.
//
// It reads no clock, opens no file and starts no thread. The simulator drives it with virtual time
// and modelled training, the live controller with real time and real workers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/core/event.h"
#include "rubato/engine/command.h"
#include "rubato/engine/explain.h"
#include "rubato/engine/quote.h"
#include "rubato/engine/state.h"

namespace rubato {

/// Same construction and same events give the same commands, byte for byte.
class Engine {
 public:
  /// `policy` as the registry spells it, with options; the error is the registry's.
  static Result<Engine> make(const Topology& topology, SpeedBook speeds, std::string_view policy,
                             const EngineOptions& options);

  /// Applies one event; returns what must now be done. Time never runs backwards.
  [[nodiscard]] Commands on(Instant now, const Event& event);

  /// What would be answered if this job arrived now; changes nothing.
  [[nodiscard]] Quote quote(Instant now, const Job& job);
  /// Why a job does not run, or was refused, and what would change that.
  [[nodiscard]] Result<Explanation> why(Instant now, JobId job) const;

  /// Checks the whole state against the plan checker; empty if all is well.
  [[nodiscard]] std::vector<std::string> audit() const;

  [[nodiscard]] const EngineState& state() const { return *state_; }
  [[nodiscard]] Traits traits() const { return policy_->traits(); }

 private:
  Engine(std::unique_ptr<EngineState> state, std::string policy_name,
         std::unique_ptr<Policy> policy, std::unique_ptr<Placer> placer);

  std::unique_ptr<EngineState> state_;
  std::string policy_name_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Placer> placer_;
  Refusals refusals_;
};

}  // namespace rubato
