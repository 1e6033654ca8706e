#include <utility>

#include "rubato/engine/record/checkpoint.h"
#include "rubato/engine/record/sealed_text.h"

namespace rubato {
namespace {

// One line, whose fields `describe` writes.
template <typename Describe>
void add_line(std::string& text, std::string_view word, const Describe& describe) {
  LineWriter line(word);
  describe(line);
  text += std::move(line).text();
  text += '\n';
}

CheckpointHead head_of(const EngineState& state) {
  CheckpointHead head{.nodes = static_cast<int>(state.node_up.size()),
                      .now = state.now,
                      .wake = state.wake,
                      .rounds = static_cast<std::uint64_t>(state.rounds),
                      .artifact_rounds = state.memory.rounds(),
                      .random = state.random.words()};
  for (const Pool& pool : state.topology.pools()) {
    head.gpus.push_back(pool.gpus);
  }
  for (std::size_t node = 0; node < state.node_up.size(); ++node) {
    if (!state.node_up[node]) {
      head.down.push_back(static_cast<int>(node));
    }
  }
  return head;
}

void add_learner(std::string& text, LearnerLine line, const JobGoodput& learner) {
  line.limits = learner.limits;
  line.version = static_cast<std::uint64_t>(learner.version);
  line.has_noise = learner.noise.has_value();
  line.noise = learner.noise.value_or(GradientNoise{});
  add_line(text, "learner", [&](LineWriter& out) { learner_fields(out, std::as_const(line)); });
  for (const auto& [pool, limits] : learner.limits_there) {
    const LearnerLimits there{.pool = pool, .limits = limits};
    add_line(text, "limits", [&](LineWriter& out) { learner_limits_fields(out, there); });
  }
  for (const auto& [pool, seen] : learner.pools) {
    const LearnerPool here{.pool = pool,
                           .workers_seen = seen.workers_seen,
                           .has_model = seen.model.has_value(),
                           .model = seen.model.value_or(ThroughputModel{})};
    add_line(text, "fit", [&](LineWriter& out) { learner_pool_fields(out, here); });
    for (const StepObservation& step : seen.seen) {
      add_line(text, "seen", [&](LineWriter& out) { step_fields(out, step); });
    }
  }
}

void add_state(std::string& text, const EngineState& state) {
  const CheckpointHead head = head_of(state);
  add_line(text, "engine", [&](LineWriter& out) { head_fields(out, head); });
  for (const NewNode& node : state.joined) {
    add_line(text, "joined", [&](LineWriter& out) { node_fields(out, node); });
  }
  for (const Job& kind : state.speeds.examples()) {
    add_line(text, "kind", [&](LineWriter& out) { kind_fields(out, kind); });
  }
  state.jobs.for_each([&](const JobState& job) {
    add_line(text, "job", [&](LineWriter& out) { state_fields(out, job); });
  });
  if (state.quote_count.given > 0) {
    add_line(text, "quotes", [&](LineWriter& out) { quote_count_fields(out, state.quote_count); });
  }
  state.jobs.for_each([&](const JobState& job) {
    if (job.quote.is_kept()) {
      const QuoteLine line{.job = job.id(), .quote = job.quote};
      add_line(text, "quote", [&](LineWriter& out) { quote_fields(out, line); });
    }
  });
  for (const JobId job : state.unserved) {
    add_line(text, "unserved", [&](LineWriter& out) { out.field("job", job); });
  }
  for (const auto& [pool, ranges] : state.memory.groups()) {
    const Placement group{.pool = pool, .ranges = ranges};
    add_line(text, "group", [&](LineWriter& out) { placement_fields(out, group); });
  }
  for (const auto& [job, learner] : state.goodputs.contents().jobs) {
    add_learner(text, LearnerLine{.is_job = true, .job = job}, learner);
  }
  for (const auto& [model, learner] : state.goodputs.contents().models) {
    add_learner(text, LearnerLine{.model = model}, learner);
  }
}

}  // namespace

std::string checkpoint_text(const CheckpointParts& parts) {
  std::string text;
  add_state(text, parts.state);
  for (const Refusals::Entry& entry : parts.refusals.entries()) {
    add_line(text, "refusal", [&](LineWriter& out) {
      verdict_fields(out, entry.verdict);
      job_fields(out, entry.job);
    });
  }
  add_line(text, "placer", [&](LineWriter& out) { out.field("memory", parts.placer.memory()); });
  text += "policy\n";
  text += parts.policy.save();
  return sealed(kCheckpointFormat, text);
}

}  // namespace rubato
