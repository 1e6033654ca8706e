#include "rubato/cli/train/train_report.h"

#include <array>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rubato {
namespace {

constexpr std::array<std::string_view, 6> kOutcomes = {"running", "finished", "failed",
                                                       "requeue", "refused",  "suspended"};

std::string_view outcome_name(JobOutcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)];
}

double milliseconds(Duration span) { return to_seconds(span) * 1000; }

// From the order to the first step at the new size; negative if it never came.
double first_step_latency(const GenerationRecord& record) {
  return record.first_step == Duration{} ? -1 : to_seconds(record.first_step - record.ordered);
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace

std::string timeline_table(const JobTimeline& timeline) {
  std::string text = fmt::format("{:>3}  {:<34} {:>7} {:>9} {:>10} {:>12} {:>5}\n", "gen", "cause",
                                 "workers", "at step", "pause", "first step", "lost");
  for (const GenerationRecord& record : timeline.generations) {
    const double latency = first_step_latency(record);
    text += fmt::format(
        "{:>3}  {:<34.34} {:>7} {:>9} {:>7.1f} ms {:>12} {:>5}\n", record.number, record.cause,
        record.members.size(), record.step, milliseconds(record.pause),
        latency < 0 ? "superseded" : fmt::format("{:.3f} s", latency), record.lost_steps);
  }
  for (const ShapeRecord& record : timeline.profile) {
    if (record.batch == 0) {  // A script's: only whole steps are timed there.
      text += fmt::format("{:>3} workers: {:.2f} ms a step\n", record.workers,
                          record.step_seconds() * 1000);
      continue;
    }
    text += fmt::format(
        "{:>3} workers, batch {}: {:.2f} ms a step ({:.0f} % computing, {:.0f} % summing, {:.0f} % "
        "waiting for data)\n",
        record.workers, record.batch, record.step_seconds() * 1000,
        100 * record.compute_seconds / record.total_seconds,
        100 * record.reduce_seconds / record.total_seconds,
        100 * record.data_seconds / record.total_seconds);
  }
  for (const StragglerRecord& record : timeline.stragglers) {
    text += fmt::format("generation {}: worker {} is slow: {}\n", record.generation,
                        record.worker.value, record.evidence);
  }
  for (const JobNotice& notice : timeline.notices) {
    text += fmt::format("note: {}\n", notice.text);
  }
  if (const std::string memory = to_text(timeline.memory); !memory.empty()) {
    text += fmt::format("memory: {}\n", memory);
  }
  text += fmt::format("{} after {} steps in {:.1f} s, loss {:.4f}, parameters {}\n",
                      outcome_name(timeline.outcome), timeline.steps, to_seconds(timeline.total),
                      timeline.loss, hash_text(timeline.parameter_hash));
  return text;
}

std::string timeline_json(const JobTimeline& timeline) {
  nlohmann::ordered_json json{{"outcome", outcome_name(timeline.outcome)},
                              {"exit_code", timeline.exit_code},
                              {"reason", timeline.reason},
                              {"seed", timeline.seed},
                              {"steps", timeline.steps},
                              {"loss", timeline.loss},
                              {"parameter_hash", hash_text(timeline.parameter_hash)},
                              {"hashes_agree", timeline.hashes_agree},
                              {"total_seconds", to_seconds(timeline.total)},
                              {"generations", nlohmann::ordered_json::array()},
                              {"workers", nlohmann::ordered_json::array()},
                              {"profile", nlohmann::ordered_json::array()},
                              {"stragglers", nlohmann::ordered_json::array()},
                              {"notices", nlohmann::ordered_json::array()}};
  for (const GenerationRecord& record : timeline.generations) {
    nlohmann::ordered_json members = nlohmann::ordered_json::array();
    for (const WorkerId member : record.members) {
      members.push_back(member.value);
    }
    json["generations"].push_back({{"number", record.number},
                                   {"forced", record.is_forced},
                                   {"cause", record.cause},
                                   {"members", members},
                                   {"step", record.step},
                                   {"ordered_seconds", to_seconds(record.ordered)},
                                   {"published_seconds", to_seconds(record.published)},
                                   {"entered_seconds", to_seconds(record.entered)},
                                   {"first_step_seconds", to_seconds(record.first_step)},
                                   {"first_step_latency_seconds", first_step_latency(record)},
                                   {"pause_seconds", to_seconds(record.pause)},
                                   {"lost_steps", record.lost_steps},
                                   {"received_bytes", record.received_bytes}});
  }
  for (const WorkerRecord& record : timeline.workers) {
    json["workers"].push_back({{"worker", record.worker.value},
                               {"started_seconds", to_seconds(record.started)},
                               {"warm_seconds", to_seconds(record.warm)},
                               {"ended_seconds", to_seconds(record.ended)},
                               {"cause", record.cause}});
  }
  for (const ShapeRecord& record : timeline.profile) {
    json["profile"].push_back(
        {{"workers", record.workers},
         {"batch", record.batch},
         {"steps", record.steps},
         {"steps_per_second", 1 / record.step_seconds()},
         {"samples_per_second", static_cast<double>(record.batch) / record.step_seconds()},
         {"compute_fraction", record.compute_seconds / record.total_seconds},
         {"reduce_fraction", record.reduce_seconds / record.total_seconds},
         {"data_fraction", record.data_seconds / record.total_seconds}});
  }
  for (const StragglerRecord& record : timeline.stragglers) {
    json["stragglers"].push_back({{"generation", record.generation},
                                  {"worker", record.worker.value},
                                  {"evidence", record.evidence}});
  }
  for (const JobNotice& notice : timeline.notices) {
    json["notices"].push_back({{"key", notice.key}, {"text", notice.text}});
  }
  const MemoryRecord& memory = timeline.memory;
  json["memory"] = {{"worker_bytes", memory.worker_bytes},
                    {"limit_bytes", memory.limit_bytes},
                    {"batch", memory.batch},
                    {"workers", memory.workers},
                    {"pieces", memory.pieces},
                    {"piece_rows", memory.piece_rows}};
  return json.dump(2) + "\n";
}

}  // namespace rubato
