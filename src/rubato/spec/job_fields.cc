#include "rubato/spec/job_fields.h"

#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "rubato/base/parse.h"
#include "rubato/base/spelling.h"
#include "rubato/launch/metrics/until_rule.h"
#include "rubato/spec/duration_text.h"
#include "rubato/spec/job_values.h"
#include "rubato/spec/shell_words.h"

namespace rubato {
namespace {

using FieldKind = JobFieldKind;

constexpr std::array<std::string_view, 3> kJobKinds = {"elastic", "restart", "emulated"};
constexpr std::array<std::string_view, 3> kJobClasses = {"slo", "soft", "best_effort"};
constexpr double kWholeMax = 2'147'483'647;

constexpr std::array<JobField, 20> kJobFields = {{
    {.name = "name",
     .kind = FieldKind::Text,
     .flag = "--name",
     .example = "resnet",
     .preset = "the program's name",
     .help = "Shown in lists; need not be unique"},
    {.name = "tenant",
     .kind = FieldKind::Text,
     .flag = "--tenant",
     .example = "vision",
     .preset = "the one your token belongs to",
     .help = "Whose quota the job uses"},
    {.name = "command",
     .kind = FieldKind::CommandLine,
     .example = "[python3, train.py, --epochs, '10']",
     .preset = "required, unless the job is emulated",
     .help = "The training program: a list, or one string that is cut into words by the rules of "
             "shells (quotes and backslashes; nothing is expanded)"},
    {.name = "kind",
     .kind = FieldKind::Choice,
     .flag = "--kind",
     .example = "elastic",
     .preset = "elastic",
     .help = "elastic: resized in place; restart: any program, started again for each size; "
             "emulated: no program, steps take the time that speeds declares",
     .choices = kJobKinds},
    {.name = "environment",
     .kind = FieldKind::Variables,
     .flag = "--env",
     .example = "{OMP_NUM_THREADS: '2'}",
     .preset = "none",
     .help = "Variables for the program (as a flag: NAME=value, may be repeated)"},
    {.name = "working_directory",
     .kind = FieldKind::Text,
     .flag = "--dir",
     .example = "runs/first",
     .preset = "where rubato is called",
     .help = "Directory the program starts in; a relative one in a file counts from that file"},
    {.name = "steps",
     .kind = FieldKind::Number,
     .flag = "--steps",
     .example = "12000",
     .preset = "required",
     .help = "Optimizer updates until the job is done: without the amount of work there is no "
             "promise",
     .least = 1e-9,
     .most = 1e15},
    {.name = "deadline",
     .kind = FieldKind::Deadline,
     .flag = "--deadline",
     .example = "18:00",
     .preset = "none: the job runs as best it can",
     .help = "A promise is asked for: 18:00, 'Sat 02:00', 6h, now+6h or 2030-01-31T18:00:00Z"},
    {.name = "class",
     .kind = FieldKind::Choice,
     .flag = "--class",
     .example = "slo",
     .preset = "slo with a deadline, else best_effort",
     .help = "slo: the deadline is promised or refused; soft: late is worse, not worthless; "
             "best_effort: no deadline",
     .choices = kJobClasses},
    {.name = "max_runtime",
     .kind = FieldKind::Length,
     .flag = "--max-runtime",
     .example = "12h",
     .preset = "none",
     .help = "The job is ended after it, such as 90s, 15m, 6h or 2d (this is no deadline)"},
    {.name = "model",
     .kind = FieldKind::Text,
     .flag = "--model",
     .example = "resnet50",
     .preset = "the command",
     .help = "Jobs of one model and batch share what is known about their speed"},
    {.name = "batch",
     .kind = FieldKind::Whole,
     .flag = "--batch",
     .example = "256",
     .preset = "unknown",
     .help = "Samples of one step over all workers",
     .least = 1,
     .most = kWholeMax},
    {.name = "workers",
     .kind = FieldKind::Workers,
     .flag = "--workers",
     .example = "{min: 1, max: 8}",
     .preset = "any number: the platform chooses",
     .help = "Numbers of workers the job accepts: 4, 1-8 or {min: 1, max: 8}, 1,2,4 or [1, 2, 4]"},
    {.name = "gpu_type",
     .kind = FieldKind::Text,
     .flag = "--gpu-type",
     .example = "A100",
     .preset = "any",
     .help = "Type of GPU the job needs"},
    {.name = "weight",
     .kind = FieldKind::Number,
     .example = "2",
     .preset = "1",
     .help = "How much the job matters beside others, for policies that weigh",
     .least = 1e-6,
     .most = 1e6},
    {.name = "speeds",
     .kind = FieldKind::Speeds,
     .flag = "--speeds",
     .example = "{1: 10, 2: 19}",
     .preset = "measured; required for emulated jobs",
     .help = "Steps per second by number of workers, if known (as a flag: 1:10,2:19)"},
    {.name = "seed",
     .kind = FieldKind::Whole,
     .example = "7",
     .preset = "1",
     .help = "Of the order of samples and all else that is drawn",
     .least = 0,
     .most = 4'294'967'295.0},
    {.name = "snapshot_steps",
     .kind = FieldKind::Whole,
     .example = "500",
     .preset = "the platform's choice",
     .help = "Steps between snapshots",
     .least = 0,
     .most = 4'294'967'295.0},
    {.name = "restarts_max",
     .kind = FieldKind::Whole,
     .example = "3",
     .preset = "the platform's choice",
     .help = "Failures in a row that are tried again",
     .least = 0,
     .most = 1'000},
    {.name = "until",
     .kind = FieldKind::Rule,
     .flag = "--until",
     .example = "accuracy >= 0.9 for 3",
     .preset = "none: the job ends with its program",
     .help = "Ends the job early, as succeeded, once a metric that it logs or prints is good "
             "enough: NAME >= NUMBER with >=, <=, > or <, and `for N` for N reports in a row"},
}};

/// What other systems call a field.
struct ForeignName {
  std::string_view theirs{};
  std::string_view ours{};
};

constexpr std::array<ForeignName, 17> kForeignNames = {{{"env", "environment"},
                                                        {"envs", "environment"},
                                                        {"cmd", "command"},
                                                        {"run", "command"},
                                                        {"entrypoint", "command"},
                                                        {"gpus", "workers"},
                                                        {"replicas", "workers"},
                                                        {"num_workers", "workers"},
                                                        {"iterations", "steps"},
                                                        {"max_steps", "steps"},
                                                        {"cwd", "working_directory"},
                                                        {"workdir", "working_directory"},
                                                        {"time_limit", "max_runtime"},
                                                        {"timeout", "max_runtime"},
                                                        {"queue", "tenant"},
                                                        {"stop_when", "until"},
                                                        {"early_stopping", "until"}}};

using google::protobuf::FieldDescriptor;

const FieldDescriptor& descriptor_of(const JobField& field) {
  const FieldDescriptor* found =
      wire::JobSpec::descriptor()->FindFieldByName(std::string(field.name));
  RUBATO_CHECK(found != nullptr);
  return *found;
}

void set_text(const JobField& field, std::string text, wire::JobSpec& spec) {
  spec.GetReflection()->SetString(&spec, &descriptor_of(field), std::move(text));
}

Status set_number(const JobField& field, std::string_view text, wire::JobSpec& spec) {
  const auto number = parse_double(trimmed(text));
  const bool is_whole = field.kind == FieldKind::Whole;
  if (!number || !(*number >= field.least) || *number > field.most ||
      (is_whole && *number != std::floor(*number))) {
    return bad_input(fmt::format(
        "found '{}', expected a {}number {} {}", text, is_whole ? "whole " : "",
        field.least < 1 && field.least > 0 ? "greater than 0 and at most"
                                           : fmt::format("from {} to", shortest(field.least)),
        shortest(field.most)));
  }
  const FieldDescriptor& descriptor = descriptor_of(field);
  const auto* reflection = spec.GetReflection();
  switch (descriptor.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      reflection->SetInt32(&spec, &descriptor, static_cast<std::int32_t>(*number));
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      reflection->SetUInt32(&spec, &descriptor, static_cast<std::uint32_t>(*number));
      break;
    default:
      reflection->SetDouble(&spec, &descriptor, *number);
      break;
  }
  return ok_status();
}

Status set_choice(const JobField& field, std::string_view text, wire::JobSpec& spec) {
  for (const std::string_view choice : field.choices) {
    if (choice == text) {
      set_text(field, std::string(text), spec);
      return ok_status();
    }
  }
  return bad_input(fmt::format("found '{}', expected one of {}{}", text,
                               fmt::join(field.choices, ", "), suggestion(text, field.choices)));
}

Status set_command(std::string_view text, wire::JobSpec& spec) {
  const auto words = shell_words(text);
  if (!words) {
    return words.error();
  }
  spec.mutable_command()->Assign(words->begin(), words->end());
  return ok_status();
}

Status add_variable(std::string_view text, wire::JobSpec& spec) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return bad_input(fmt::format("found '{}', expected NAME=value", text));
  }
  (*spec.mutable_environment())[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  return ok_status();
}

Status set_speeds(std::string_view text, wire::JobSpec& spec) {
  const auto points = parse_speeds(text);
  if (!points) {
    return points.error();
  }
  spec.mutable_speeds()->Assign(points->begin(), points->end());
  return ok_status();
}

Status set_rule(const JobField& field, std::string_view text, wire::JobSpec& spec) {
  const auto rule = launch::metrics::parse_until(text);
  if (!rule) {
    const std::string meant = launch::metrics::nearest_until(text);
    return bad_input(rule.error().message +
                     (meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant)));
  }
  set_text(field, to_string(*rule), spec);
  return ok_status();
}

}  // namespace

std::span<const JobField> job_fields() { return kJobFields; }

const JobField* find_job_field(std::string_view name) {
  for (const JobField& field : kJobFields) {
    if (field.name == name) {
      return &field;
    }
  }
  return nullptr;
}

std::string field_suggestion(std::string_view name) {
  for (const ForeignName& foreign : kForeignNames) {
    if (foreign.theirs == name) {
      return fmt::format("; did you mean '{}'?", foreign.ours);
    }
  }
  std::vector<std::string_view> names;
  names.reserve(std::size(kJobFields));
  for (const JobField& field : kJobFields) {
    names.push_back(field.name);
  }
  return suggestion(name, names);
}

Status set_job_field(const JobField& field, std::string_view text, const WallClock& clock,
                     wire::JobSpec& spec) {
  switch (field.kind) {
    case FieldKind::Text:
      set_text(field, std::string(text), spec);
      return ok_status();
    case FieldKind::Choice:
      return set_choice(field, text, spec);
    case FieldKind::CommandLine:
      return set_command(text, spec);
    case FieldKind::Variables:
      return add_variable(text, spec);
    case FieldKind::Number:
    case FieldKind::Whole:
      return set_number(field, text, spec);
    case FieldKind::Deadline: {
      const auto moment = resolve_deadline(text, clock);
      if (!moment) {
        return moment.error();
      }
      spec.set_deadline(rfc3339_text(*moment));
      return ok_status();
    }
    case FieldKind::Length: {
      const auto span = parse_duration(text);
      if (!span) {
        return span.error();
      }
      set_text(field, std::string(trimmed(text)), spec);
      return ok_status();
    }
    case FieldKind::Workers: {
      const auto limits = parse_workers(text);
      if (!limits) {
        return limits.error();
      }
      *spec.mutable_workers() = *limits;
      return ok_status();
    }
    case FieldKind::Speeds:
      return set_speeds(text, spec);
    case FieldKind::Rule:
      return set_rule(field, text, spec);
  }
  return ok_status();
}

}  // namespace rubato
