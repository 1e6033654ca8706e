#include "rubato/trace/formats/philly_reader.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rubato/trace/read/json_reader.h"
#include "rubato/trace/text/date.h"
#include "rubato/trace/text/json_member.h"

namespace rubato {
namespace {

using Json = nlohmann::json;

std::string string_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string{};
}

// The log writes an unknown time as null, "" or "None".
std::optional<std::int64_t> time_of(const Json& value) {
  return value.is_string() ? parse_date(value.get_ref<const std::string&>()) : std::nullopt;
}

std::size_t gpus_of(const Json& attempt) {
  std::size_t gpus = 0;
  const Json& detail = member(attempt, "detail");
  if (detail.is_array()) {
    for (const Json& server : detail) {
      const Json& held = member(server, "gpus");
      gpus += held.is_array() ? held.size() : 0;
    }
  }
  return gpus;
}

/// What the attempts of a job add up to.
struct Ran {
  std::size_t gpus = 0;
  std::int64_t seconds = 0;
  bool is_finished = false;  // The last attempt has an end.
};

Ran sum_of(const Json& attempts) {
  Ran ran;
  for (const Json& attempt : attempts) {
    const auto start = time_of(member(attempt, "start_time"));
    const auto end = time_of(member(attempt, "end_time"));
    ran.is_finished = end.has_value();
    ran.gpus = std::max(ran.gpus, gpus_of(attempt));
    ran.seconds += start && end ? std::max<std::int64_t>(*end - *start, 0) : 0;
  }
  return ran;
}

class PhillyReader final : public JsonReader {
 public:
  explicit PhillyReader(ReaderSetup setup) : JsonReader(std::move(setup), "") {}

 private:
  void on_record(std::string_view text, std::uint64_t line) override {
    const Json record = Json::parse(text, /*cb=*/nullptr, /*exceptions=*/false);
    if (record.is_discarded()) {
      problems().error(line, "", "found " + shown(text) + ", expected one JSON object for a job");
      return;
    }
    const auto submitted = time_of(member(record, "submitted_time"));
    if (!submitted) {
      problems().error(line, "submitted_time",
                       fmt::format("found {}, expected a date like 2017-10-07 01:11:39",
                                   shown(string_of(member(record, "submitted_time")))));
      return;
    }
    const Json& attempts = member(record, "attempts");
    if (!attempts.is_array()) {
      problems().error(line, "attempts", "expected a list");
      return;
    }
    const Ran ran = sum_of(attempts);
    if (is_job(ran, line)) {
      Job job;
      job.id = JobId{emitted()};
      job.name = string_of(member(record, "jobid"));
      job.tenant = string_of(member(record, "vc"));
      job.job_class = JobClass::BestEffort;
      job.arrival = Instant{std::chrono::seconds(*submitted)};
      job.requested = static_cast<int>(ran.gpus);
      job.duration = std::chrono::seconds(ran.seconds);
      emit(std::move(job), line);
    }
  }

  // Whether there is something to run; reports the reason if not.
  bool is_job(const Ran& ran, std::uint64_t line) {
    if (!ran.is_finished || ran.seconds == 0) {
      problems().skip(line, "attempts", "the job never ran or was still running");
      return false;
    }
    if (ran.gpus == 0) {
      problems().skip(line, "attempts", "the job uses no GPU");
      return false;
    }
    const bool fits = ran.gpus <= static_cast<std::size_t>(kGpusMax) &&
                      static_cast<double>(ran.seconds) <= kSecondsMax;
    if (!fits) {
      problems().error(line, "attempts",
                       fmt::format("found {} GPUs for {} s, expected at most {} GPUs for {:.0f} s",
                                   ran.gpus, ran.seconds, kGpusMax, kSecondsMax));
    }
    return fits;
  }
};

}  // namespace

std::unique_ptr<Reader> make_philly_reader(ReaderSetup setup) {
  return std::make_unique<PhillyReader>(std::move(setup));
}

}  // namespace rubato
