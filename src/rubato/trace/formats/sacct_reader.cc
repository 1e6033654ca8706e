#include "rubato/trace/formats/sacct_reader.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rubato/base/parse.h"
#include "rubato/trace/read/json_reader.h"
#include "rubato/trace/text/json_member.h"

namespace rubato {
namespace {

using Json = nlohmann::json;

// Numbers come plain or, in newer versions, as {"set": true, "number": 5}; -1 for anything else.
double number_of(const Json& value) {
  if (value.is_number()) {
    return value.get<double>();
  }
  const Json& number = member(value, "number");
  const Json& is_set = member(value, "set");
  const bool is_known = number.is_number() && (!is_set.is_boolean() || is_set.get<bool>());
  return is_known ? number.get<double>() : -1;
}

std::string text_of(const Json& value) {
  if (value.is_number_integer()) {
    return std::to_string(value.get<std::int64_t>());
  }
  return value.is_string() ? value.get<std::string>() : std::string{};
}

struct GpuRequest {
  double gpus = 0;
  std::string type{};
};

// Slurm lists `gpu` for all types together and `gpu:a100` for one; both name the same GPUs.
GpuRequest gpus_in(const Json& resources) {
  GpuRequest request;
  double typed = 0;
  if (!resources.is_array()) {
    return request;
  }
  for (const Json& resource : resources) {
    const std::string name = text_of(member(resource, "name"));
    const double count = std::max(0.0, number_of(member(resource, "count")));
    if (text_of(member(resource, "type")) != "gres") {
      continue;
    }
    if (name == "gpu") {
      request.gpus += count;
    } else if (name.starts_with("gpu:")) {
      typed += count;
      request.type = request.type.empty() ? name.substr(4) : request.type;
    }
  }
  request.gpus = std::max(request.gpus, typed);
  return request;
}

class SacctReader final : public JsonReader {
 public:
  explicit SacctReader(ReaderSetup setup) : JsonReader(std::move(setup), "jobs") {}

 private:
  void on_record(std::string_view text, std::uint64_t line) override {
    const Json record = Json::parse(text, /*cb=*/nullptr, /*exceptions=*/false);
    if (record.is_discarded()) {
      problems().error(line, "", "found " + shown(text) + ", expected one JSON object for a job");
      return;
    }
    const Json& time = member(record, "time");
    const double submitted = number_of(member(time, "submission"));
    if (!(submitted >= 0 && submitted <= kSecondsMax)) {
      problems().error(line, "time.submission",
                       fmt::format("found {}, expected Unix seconds", shortest(submitted)));
      return;
    }
    GpuRequest request = gpus_in(member(member(record, "tres"), "allocated"));
    if (request.gpus < 1) {
      request = gpus_in(member(member(record, "tres"), "requested"));
    }
    const double seconds = run_seconds(time);
    if (!is_job(request.gpus, seconds, line)) {
      return;
    }
    Job job;
    job.id = JobId{emitted()};
    job.name = text_of(member(record, "job_id"));
    job.tenant = text_of(member(record, "account"));
    job.job_class = JobClass::BestEffort;
    job.arrival = Instant{exact_seconds(submitted)};
    job.duration = exact_seconds(seconds);
    job.requested = static_cast<int>(request.gpus);
    job.gpu_type = std::move(request.type);
    emit(std::move(job), line);
  }

  // How long the job ran; zero if it has not started or not ended.
  static double run_seconds(const Json& time) {
    const double start = number_of(member(time, "start"));
    const double end = number_of(member(time, "end"));
    if (start <= 0 || end <= 0) {
      return 0;
    }
    return end > start ? end - start : std::max(0.0, number_of(member(time, "elapsed")));
  }

  // Whether there is something to run; reports the reason if not.
  bool is_job(double gpus, double seconds, std::uint64_t line) {
    if (gpus < 1) {
      problems().skip(line, "tres", "the job uses no GPU");
      return false;
    }
    if (!(seconds > 0)) {
      problems().skip(line, "time", "the job has not started or not ended");
      return false;
    }
    const bool fits = gpus <= kGpusMax && seconds <= kSecondsMax;
    if (!fits) {
      problems().error(line, "tres",
                       fmt::format("found {} GPUs for {} s, expected at most {} GPUs for {:.0f} s",
                                   shortest(gpus), shortest(seconds), kGpusMax, kSecondsMax));
    }
    return fits;
  }
};

}  // namespace

std::unique_ptr<Reader> make_sacct_reader(ReaderSetup setup) {
  return std::make_unique<SacctReader>(std::move(setup));
}

}  // namespace rubato
