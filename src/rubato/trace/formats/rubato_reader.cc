#include "rubato/trace/formats/rubato_reader.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rubato/base/parse.h"
#include "rubato/trace/read/record_reader.h"
#include "rubato/trace/text/line_splitter.h"
#include "rubato/trace/text/rubato_trace.h"

namespace rubato {
namespace {

using Json = nlohmann::json;

constexpr double kAmountMax = 1e300;
constexpr double kDataMax = 1e9;  // Gigabytes: an exabyte.
constexpr int kIntMax = std::numeric_limits<int>::max();
constexpr std::size_t kListMax = 4096;  // Worker counts or value steps of one job.

/// One JSON object with a fixed set of fields; reports what does not fit and remembers that it did.
class Fields {
 public:
  struct Place {
    Problems& problems;
    std::uint64_t line = 0;
    std::string path{};  // `value.` inside the value, else empty.
  };

  Fields(const Json& object, Place place, std::span<const std::string_view> known)
      : object_(object), place_(std::move(place)) {
    if (!object.is_object()) {
      expected("", "an object");
      return;
    }
    for (const auto& [field, value] : object.items()) {
      if (std::ranges::find(known, field) == known.end()) {
        reject(field, "unknown field", did_you_mean(field, known));
      }
    }
  }

  [[nodiscard]] const Json* find(std::string_view field) const {
    if (!object_.is_object()) {
      return nullptr;
    }
    const auto found = object_.find(field);
    return found == object_.end() ? nullptr : &*found;
  }

  void number(std::string_view field, double min, double max, double& target) {
    const Json* value = find(field);
    if (value == nullptr) {
      return;
    }
    const double number = value->is_number() ? value->get<double>() : 0;
    if (!value->is_number() || !(number >= min && number <= max)) {
      expected(field, fmt::format("a number from {} to {}", shortest(min), shortest(max)));
      return;
    }
    target = number;
  }

  void integer(std::string_view field, int min, int max, int& target) {
    const Json* value = find(field);
    if (value == nullptr) {
      return;
    }
    const bool is_small = value->is_number_integer() &&
                          (!value->is_number_unsigned() ||
                           value->get<std::uint64_t>() <= static_cast<std::uint64_t>(kIntMax));
    const std::int64_t number = is_small ? value->get<std::int64_t>() : 0;
    if (!is_small || number < min || number > max) {
      expected(field, fmt::format("a whole number from {} to {}", min, max));
      return;
    }
    target = static_cast<int>(number);
  }

  void seconds(std::string_view field, Duration& target) {
    double number = to_seconds(target);
    const bool was_usable = is_usable_;
    number_of_seconds(field, number);
    if (find(field) != nullptr && was_usable == is_usable_) {
      target = exact_seconds(number);
    }
  }

  void text(std::string_view field, std::string& target) {
    const Json* value = find(field);
    if (value == nullptr) {
      return;
    }
    if (!value->is_string()) {
      expected(field, "text in quotes");
      return;
    }
    target = value->get<std::string>();
  }

  /// The index of one of `words`; nothing if the field is absent or wrong.
  std::optional<std::size_t> choice(std::string_view field,
                                    std::span<const std::string_view> words) {
    std::string chosen;
    text(field, chosen);
    const auto found = std::ranges::find(words, chosen);
    if (found != words.end()) {
      return static_cast<std::size_t>(found - words.begin());
    }
    if (find(field) != nullptr && find(field)->is_string()) {
      reject(field,
             fmt::format("found {}, expected one of {}", shown(chosen), fmt::join(words, ", ")),
             did_you_mean(chosen, words));
    }
    return std::nullopt;
  }

  /// The elements of a list; null if the field is absent or wrong.
  const Json* list(std::string_view field) {
    const Json* value = find(field);
    if (value != nullptr && (!value->is_array() || value->size() > kListMax)) {
      expected(field, fmt::format("a list of at most {} elements", kListMax));
      return nullptr;
    }
    return value;
  }

  void required(std::string_view field) {
    if (object_.is_object() && find(field) == nullptr) {
      reject(field, "missing");
    }
  }

  void reject(std::string_view field, std::string message, std::string suggestion = {}) {
    is_usable_ = false;
    place_.problems.error(place_.line, place_.path + std::string(field.substr(0, 64)),
                          std::move(message), std::move(suggestion));
  }

  [[nodiscard]] bool is_usable() const { return is_usable_; }
  [[nodiscard]] Place inside(std::string_view field) const {
    return {.problems = place_.problems,
            .line = place_.line,
            .path = place_.path + std::string(field) + "."};
  }
  void absorb(const Fields& inner) { is_usable_ = is_usable_ && inner.is_usable_; }

 private:
  void number_of_seconds(std::string_view field, double& target) {
    const Json* value = find(field);
    if (value != nullptr && value->is_number() && value->get<double>() > kSecondsMax) {
      expected(field, fmt::format("seconds up to {:.0f}", kSecondsMax),
               "it looks like milliseconds: divide by 1000");
      return;
    }
    number(field, 0, kSecondsMax, target);
  }

  void expected(std::string_view field, const std::string& what, std::string suggestion = {}) {
    const Json* value = field.empty() ? &object_ : find(field);
    const std::string found =
        value == nullptr ? "nothing"
                         : shown(value->dump(-1, ' ', true, Json::error_handler_t::replace));
    reject(field, "found " + found + ", expected " + what, std::move(suggestion));
  }

  const Json& object_;
  Place place_;
  bool is_usable_ = true;
};

void read_workers(Fields& job_fields, WorkerCounts& workers) {
  const Json* object = job_fields.find("workers");
  if (object == nullptr) {
    return;
  }
  Fields fields(*object, job_fields.inside("workers"), kWorkersFields);
  fields.integer("min", 1, kGpusMax, workers.min);
  fields.integer("max", 1, kGpusMax, workers.max);
  if (const Json* listed = fields.list("listed")) {
    for (const Json& element : *listed) {
      const bool is_count = element.is_number_unsigned() &&
                            element.get<std::uint64_t>() <= static_cast<std::uint64_t>(kGpusMax);
      const int count = is_count ? element.get<int>() : 0;
      if (count <= (workers.listed.empty() ? 0 : workers.listed.back())) {
        fields.reject("listed", "expected rising whole numbers from 1");
        break;
      }
      workers.listed.push_back(count);
    }
  }
  if (fields.is_usable() && workers.min > workers.max) {
    fields.reject("min", fmt::format("{} is more than max, which is {}", workers.min, workers.max));
  }
  job_fields.absorb(fields);
}

void read_value(Fields& job_fields, ValueFunction& value) {
  const Json* object = job_fields.find("value");
  if (object == nullptr) {
    return;
  }
  Fields fields(*object, job_fields.inside("value"), kValueFields);
  if (const auto kind = fields.choice("kind", kValueKindWords)) {
    value.kind = static_cast<ValueKind>(*kind);
  }
  fields.number("amount", 0, kAmountMax, value.amount);
  fields.number("decay", 0, kAmountMax, value.decay);
  fields.seconds("knee", value.knee);
  if (const Json* steps = fields.list("steps")) {
    for (const Json& element : *steps) {
      Fields step_fields(element, fields.inside("steps"), kStepFields);
      ValueStep step;
      step_fields.required("within");
      step_fields.required("amount");
      step_fields.seconds("within", step.within);
      step_fields.number("amount", 0, kAmountMax, step.amount);
      fields.absorb(step_fields);
      value.steps.push_back(step);
    }
  }
  const bool rises = std::ranges::is_sorted(value.steps, {}, &ValueStep::within);
  const bool falls =
      std::ranges::is_sorted(value.steps, std::ranges::greater{}, &ValueStep::amount);
  if (fields.is_usable() && !(rises && falls)) {
    fields.reject("steps", "expected rising 'within' and falling 'amount'");
  }
  job_fields.absorb(fields);
}

// A number of workers and its speed; a count of zero if it is none.
ScalingPoint point_of(const Json& element) {
  const bool is_pair = element.is_array() && element.size() == 2 &&
                       element[0].is_number_unsigned() && element[1].is_number() &&
                       element[0].get<std::uint64_t>() <= static_cast<std::uint64_t>(kGpusMax);
  if (!is_pair) {
    return {};
  }
  const ScalingPoint point{.workers = element[0].get<int>(), .speed = element[1].get<double>()};
  return point.speed > 0 && point.speed <= kAmountMax ? point : ScalingPoint{};
}

void read_speeds(Fields& fields, std::vector<ScalingPoint>& speeds) {
  const Json* list = fields.list("speeds");
  if (list == nullptr) {
    return;
  }
  for (const Json& element : *list) {
    const ScalingPoint point = point_of(element);
    if (point.workers <= (speeds.empty() ? 0 : speeds.back().workers)) {
      fields.reject("speeds",
                    "expected [workers, steps per second] with rising workers, all above zero");
      return;
    }
    speeds.push_back(point);
  }
}

void read_job(Fields& fields, Job& job) {
  fields.required("arrival");
  if (const Json* id = fields.find("id")) {
    if (id->is_number_unsigned()) {
      job.id = JobId{id->get<std::uint64_t>()};
    } else {
      fields.reject("id", "expected a whole number, zero or more");
    }
  }
  fields.text("name", job.name);
  fields.text("tenant", job.tenant);
  Duration arrival{};
  fields.seconds("arrival", arrival);
  job.arrival = Instant{arrival};
  if (fields.find("deadline") != nullptr) {
    Duration deadline{};
    fields.seconds("deadline", deadline);
    job.deadline = Instant{deadline};
  }
  job.job_class = job.has_deadline() ? JobClass::Slo : JobClass::BestEffort;
  if (const auto chosen = fields.choice("class", kClassWords)) {
    job.job_class = static_cast<JobClass>(*chosen);
  }
  fields.number("work", 0, kAmountMax, job.work);
  fields.text("model", job.model);
  fields.integer("batch", 0, kIntMax, job.batch);
  fields.integer("requested", 1, kGpusMax, job.requested);
  fields.seconds("duration", job.duration);
  read_workers(fields, job.workers);
  fields.text("gpu_type", job.gpu_type);
  fields.text("region", job.region);
  fields.number("data_gb", 0, kDataMax, job.data_gb);
  fields.number("weight", 0, kAmountMax, job.weight);
  read_value(fields, job.value);
  read_speeds(fields, job.speeds);
}

class RubatoReader final : public RecordReader {
 public:
  using RecordReader::RecordReader;

  [[nodiscard]] std::size_t buffered_bytes() const override { return lines_.buffered_bytes(); }

 private:
  void on_bytes(std::string_view chunk) override {
    lines_.feed(chunk, [this](const Line& line) { on_line(line); });
  }

  void on_end() override {
    lines_.finish([this](const Line& line) { on_line(line); });
    if (!has_header_) {
      problems().error(
          0, "",
          fmt::format("found no header, expected {{\"format\":\"{}\"}}", kRubatoTraceFormat));
    } else if (!is_unusable_ && jobs_expected_ && *jobs_expected_ != lines_of_jobs_) {
      problems().error(0, "jobs",
                       fmt::format("found {} jobs, the header promises {}: the file was cut off "
                                   "or edited",
                                   lines_of_jobs_, *jobs_expected_));
    }
  }

  void on_line(const Line& line) {
    if (problems().gave_up() || is_unusable_ || (trimmed(line.text).empty() && !line.is_too_long)) {
      return;
    }
    const Json object =
        line.is_too_long ? Json() : Json::parse(line.text, /*cb=*/nullptr, /*exceptions=*/false);
    if (line.is_too_long || object.is_discarded()) {
      problems().error(line.number, "",
                       line.is_too_long
                           ? fmt::format("line is longer than {} bytes", kLineBytesMax)
                           : fmt::format("found {}, expected one JSON object", shown(line.text)));
      lines_of_jobs_ += has_header_ ? 1 : 0;
      is_unusable_ = !has_header_;
      has_header_ = true;
    } else if (!has_header_) {
      on_header(object, line.number);
    } else {
      on_job(object, line.number);
    }
  }

  void on_header(const Json& object, std::uint64_t line) {
    has_header_ = true;
    Fields fields(object, {.problems = problems(), .line = line}, kHeaderFields);
    std::string format;
    fields.required("format");
    fields.text("format", format);
    if (!format.empty() && format != kRubatoTraceFormat && format != kRubatoTraceOldFormat) {
      fields.reject("format",
                    fmt::format("found {}, expected {} or {}: this version reads no other",
                                shown(format), kRubatoTraceFormat, kRubatoTraceOldFormat));
    }
    if (const Json* jobs = fields.find("jobs")) {
      if (jobs->is_number_unsigned()) {
        jobs_expected_ = jobs->get<std::uint64_t>();
      } else {
        fields.reject("jobs", "expected a whole number, zero or more");
      }
    }
    is_unusable_ = !fields.is_usable();
  }

  void on_job(const Json& object, std::uint64_t line) {
    ++lines_of_jobs_;
    Job job;
    job.id = JobId{emitted()};
    Fields fields(object, {.problems = problems(), .line = line}, kJobFields);
    read_job(fields, job);
    if (fields.is_usable()) {
      emit(std::move(job), line);
    }
  }

  LineSplitter lines_;
  bool has_header_ = false;
  bool is_unusable_ = false;  // A wrong header: its jobs would mean something else.
  std::uint64_t lines_of_jobs_ = 0;
  std::optional<std::uint64_t> jobs_expected_;
};

}  // namespace

std::unique_ptr<Reader> make_rubato_reader(ReaderSetup setup) {
  return std::make_unique<RubatoReader>(std::move(setup));
}

}  // namespace rubato
