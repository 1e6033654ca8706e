#include "rubato/trace/write/rubato_writer.h"

#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rubato/base/parse.h"
#include "rubato/trace/text/rubato_trace.h"
#include "rubato/trace/text/seconds_text.h"

namespace rubato {
namespace {

/// Builds one JSON object, fields in the order they are added.
class ObjectText {
 public:
  void add(std::string_view field, std::string_view value) {
    text_ += fmt::format("{}\"{}\":{}", text_.empty() ? "" : ",", field, value);
  }
  [[nodiscard]] std::string closed() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

std::string string_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string word(std::string_view text) { return fmt::format("\"{}\"", text); }

std::string workers_text(const WorkerCounts& workers) {
  ObjectText object;
  object.add("min", std::to_string(workers.min));
  object.add("max", std::to_string(workers.max));
  if (!workers.listed.empty()) {
    object.add("listed", fmt::format("[{}]", fmt::join(workers.listed, ",")));
  }
  return object.closed();
}

std::string value_text(const ValueFunction& value) {
  ObjectText object;
  object.add("kind", word(kValueKindWords.at(static_cast<std::size_t>(value.kind))));
  object.add("amount", shortest(value.amount));
  object.add("decay", shortest(value.decay));
  object.add("knee", seconds_text(value.knee));
  if (!value.steps.empty()) {
    std::string steps;
    for (const ValueStep& step : value.steps) {
      steps += fmt::format("{}{{\"within\":{},\"amount\":{}}}", steps.empty() ? "" : ",",
                           seconds_text(step.within), shortest(step.amount));
    }
    object.add("steps", "[" + steps + "]");
  }
  return object.closed();
}

std::string speeds_text(const std::vector<ScalingPoint>& speeds) {
  std::string text;
  for (const ScalingPoint& point : speeds) {
    text += fmt::format("{}[{},{}]", text.empty() ? "" : ",", point.workers, shortest(point.speed));
  }
  return "[" + text + "]";
}

}  // namespace

std::string rubato_header_line(const RubatoTraceHeader& header) {
  ObjectText object;
  object.add("format", word(kRubatoTraceFormat));
  if (!header.source.empty()) {
    object.add("source", string_text(header.source));
  }
  if (header.seed) {
    object.add("seed", std::to_string(*header.seed));
  }
  if (header.jobs) {
    object.add("jobs", std::to_string(*header.jobs));
  }
  return object.closed() + "\n";
}

std::string rubato_job_line(const Job& job) {
  const Job defaults;
  ObjectText object;
  object.add("id", std::to_string(job.id.value));
  object.add("name", string_text(job.name));
  if (!job.tenant.empty()) {
    object.add("tenant", string_text(job.tenant));
  }
  object.add("class", word(to_string(job.job_class)));
  object.add("arrival", seconds_text(job.arrival.time_since_epoch()));
  if (job.has_deadline()) {
    object.add("deadline", seconds_text(job.deadline.time_since_epoch()));
  }
  object.add("work", shortest(job.work));
  object.add("model", string_text(job.model));
  object.add("batch", std::to_string(job.batch));
  object.add("requested", std::to_string(job.requested));
  object.add("duration", seconds_text(job.duration));
  if (job.workers != defaults.workers) {
    object.add("workers", workers_text(job.workers));
  }
  if (!job.gpu_type.empty()) {
    object.add("gpu_type", string_text(job.gpu_type));
  }
  if (!job.region.empty()) {
    object.add("region", string_text(job.region));
  }
  if (job.data_gb > 0) {
    object.add("data_gb", shortest(job.data_gb));
  }
  if (job.weight < 1 || job.weight > 1) {
    object.add("weight", shortest(job.weight));
  }
  if (job.value != defaults.value) {
    object.add("value", value_text(job.value));
  }
  if (!job.speeds.empty()) {
    object.add("speeds", speeds_text(job.speeds));
  }
  return object.closed() + "\n";
}

}  // namespace rubato
