// Test support: engines on small clusters, with a real policy or one that does as it is told.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/engine/engine.h"

namespace rubato {

[[nodiscard]] inline Instant at(double seconds) { return at_seconds(seconds); }
[[nodiscard]] inline Duration seconds(double count) { return from_seconds(count); }

/// `gpus` steps per second for the model `linear` on 1, 2, 4, ..., 64 GPUs. The model `close` is
/// the same inside a node, and half as fast across nodes.
[[nodiscard]] inline std::vector<SpeedRow> test_speeds(std::string_view gpu_type = "") {
  std::vector<SpeedRow> rows;
  for (int gpus = 1; gpus <= 64; gpus *= 2) {
    SpeedRow row{.gpu_type = std::string(gpu_type),
                 .model = "linear",
                 .batch = 1,
                 .gpus = gpus,
                 .speed = 1.0 * gpus};
    rows.push_back(row);
    row.model = "close";
    row.span = Locality::Node;
    rows.push_back(row);
    for (const Locality span : {Locality::Rack, Locality::Across}) {
      row.span = span;
      row.speed = gpus == 1 ? 1.0 : 0.5 * gpus;
      rows.push_back(row);
    }
  }
  return rows;
}

/// A job of the model `linear` without a deadline.
[[nodiscard]] inline Job job(std::uint64_t id, double work, double arrival = 0) {
  return Job{.id = JobId{id}, .arrival = at(arrival), .work = work, .model = "linear", .batch = 1};
}

[[nodiscard]] inline Job due(double deadline, Job job) {
  job.deadline = at(deadline);
  return job;
}

struct World {
  std::string cluster = "1x4";
  ResizeCostModel accounting = ResizeCostModel::None;
  double slot_seconds = 1;
  std::uint64_t seed = 0;
  bool grid = false;
  std::vector<SpeedRow> speeds = test_speeds();
  std::string placer{};
  double firm_quotes = 0;

  [[nodiscard]] Topology topology() const { return Topology::parse(cluster).value(); }
  [[nodiscard]] EngineOptions options() const {
    return {.accounting = accounting,
            .slot = seconds(slot_seconds),
            .grid = grid,
            .firm_quotes = firm_quotes,
            .seed = seed,
            .placer = placer};
  }
  [[nodiscard]] Engine engine(std::string_view policy) const {
    return Engine::make(topology(), SpeedBook(speeds, topology()), policy, options()).value();
  }
};

/// What a policy is told to decide, and what it was told.
struct Script {
  std::optional<Decision> next{};  // For the next event; without one, arrivals are admitted.
  Traits traits{};
  std::vector<Event> seen{};
};

class ScriptedPolicy final : public Policy {
 public:
  explicit ScriptedPolicy(Script& script) : script_(script) {}

  [[nodiscard]] Traits traits() const override { return script_.traits; }
  [[nodiscard]] Decision on(const Event& event, const View& /*view*/) override {
    script_.seen.push_back(event);
    if (script_.next) {
      return *std::exchange(script_.next, std::nullopt);
    }
    Decision decision;
    if (const auto* arrival = std::get_if<Arrival>(&event)) {
      decision.verdicts.push_back(Verdict{.job = arrival->job.id});
    }
    return decision;
  }

 private:
  Script& script_;
};

/// An engine whose decisions are made by the test.
class ScriptedEngine {
 public:
  explicit ScriptedEngine(const World& world = {}, Traits traits = {})
      : script_(std::make_unique<Script>(Script{.traits = traits})),
        engine_(Engine::with(
            world.topology(), SpeedBook(world.speeds, world.topology()),
            [script = script_.get()] { return std::make_unique<ScriptedPolicy>(*script); },
            world.options())) {}

  Commands on(double now, const Event& event) { return engine_.on(at(now), event); }
  Commands decide(double now, Decision decision, const Event& event = Tick{}) {
    script_->next = std::move(decision);
    return engine_.on(at(now), event);
  }
  Commands arrive(double now, Job job) {
    job.arrival = at(now);
    return engine_.on(at(now), Arrival{.job = std::move(job)});
  }
  /// A round with these targets, in pool 0; the others keep what they have.
  Commands round(double now, std::initializer_list<std::pair<std::uint64_t, int>> shares) {
    Decision decision{.is_round = true};
    for (const auto& [id, workers] : shares) {
      decision.targets.push_back(Target{.job = JobId{id}, .workers = workers});
    }
    return decide(now, std::move(decision));
  }

  [[nodiscard]] const JobState& job(std::uint64_t id) const {
    return engine_.state().jobs.at(JobId{id});
  }
  [[nodiscard]] const EngineState& state() const { return engine_.state(); }
  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] Script& script() { return *script_; }

 private:
  std::unique_ptr<Script> script_;
  Engine engine_;
};

/// The commands of one kind.
template <typename Kind>
[[nodiscard]] std::vector<Kind> only(const Commands& commands) {
  std::vector<Kind> found;
  for (const Command& command : commands) {
    if (const auto* each = std::get_if<Kind>(&command)) {
      found.push_back(*each);
    }
  }
  return found;
}

/// gtest has a Run of its own.
[[nodiscard]] inline std::vector<Run> runs_of(const Commands& commands) {
  return only<Run>(commands);
}

}  // namespace rubato
