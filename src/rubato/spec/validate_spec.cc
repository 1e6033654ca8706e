#include "rubato/spec/validate_spec.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "rubato/base/parse.h"
#include "rubato/base/spelling.h"
#include "rubato/launch/metrics/until_rule.h"
#include "rubato/spec/deadline_text.h"
#include "rubato/spec/duration_text.h"
#include "rubato/spec/job_fields.h"
#include "rubato/spec/job_values.h"

namespace rubato {
namespace {

using SpecFinding = std::optional<SpecProblem>;

constexpr std::size_t kSpecNameMax = 128;
constexpr std::size_t kSpecPathMax = 4'096;
constexpr int kCommandWordsMax = 4'096;
constexpr int kVariablesMax = 1'024;
constexpr std::size_t kCommandBytesMax = 256 << 10;

bool has_control_letter(std::string_view text) {
  return std::ranges::any_of(text, [](char letter) {
    const auto code = static_cast<unsigned char>(letter);
    return code < 0x20 || code == 0x7f;
  });
}

// Length of the UTF-8 sequence that begins with this byte; zero if none does.
std::size_t message_letter_length(unsigned char first) {
  if (first < 0x80) {
    return 1;
  }
  if (first < 0xc2 || first > 0xf4) {
    return 0;
  }
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

// Messages cannot carry anything else.
bool is_message_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = message_letter_length(static_cast<unsigned char>(text.front()));
    if (length == 0 || length > text.size()) {
      return false;
    }
    for (const char next : text.substr(1, length - 1)) {
      if ((static_cast<unsigned char>(next) & 0xc0) != 0x80) {
        return false;
      }
    }
    text.remove_prefix(length);
  }
  return true;
}

bool is_program_text(std::string_view text) {
  return is_message_text(text) && text.find('\0') == std::string_view::npos;
}

SpecFinding check_text(std::string_view field, std::string_view text, std::size_t most) {
  if (text.size() > most) {
    return SpecProblem{.field = std::string(field),
                       .message = fmt::format("is longer than {} bytes", most)};
  }
  if (has_control_letter(text) || !is_message_text(text)) {
    return SpecProblem{.field = std::string(field),
                       .message = "contains control characters or is no UTF-8"};
  }
  return std::nullopt;
}

// Names that end up in paths of the interface.
SpecFinding check_tenant(std::string_view text) {
  const bool is_plain = std::ranges::all_of(text, [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' ||
           letter == '_' || letter == '.';
  });
  if (!is_plain || text.size() > kSpecNameMax) {
    return SpecProblem{.field = "tenant",
                       .message = fmt::format("found '{}', expected letters, digits, '-', '_' and "
                                              "'.'",
                                              text)};
  }
  return std::nullopt;
}

SpecFinding check_names(const wire::JobSpec& spec) {
  for (const auto& [field, text, most] :
       {std::tuple{"name", &spec.name(), kSpecNameMax},
        std::tuple{"model", &spec.model(), kSpecNameMax},
        std::tuple{"gpu_type", &spec.gpu_type(), kSpecNameMax},
        std::tuple{"working_directory", &spec.working_directory(), kSpecPathMax}}) {
    if (auto found = check_text(field, *text, most)) {
      return found;
    }
  }
  if (!spec.working_directory().empty() && spec.working_directory().front() != '/') {
    return SpecProblem{
        .field = "working_directory",
        .message = fmt::format("found '{}', expected an absolute path", spec.working_directory())};
  }
  return check_tenant(spec.tenant());
}

SpecFinding check_words(const wire::JobSpec& spec) {
  for (const auto& [name, word] :
       {std::pair{"kind", &spec.kind()}, std::pair{"class", &spec.class_()}}) {
    const auto choices = find_job_field(name)->choices;
    if (!word->empty() && std::ranges::find(choices, *word) == choices.end()) {
      return SpecProblem{
          .field = name,
          .message = fmt::format("found '{}', expected one of {}", *word, fmt::join(choices, ", ")),
          .suggestion = std::string(nearest_spelling(*word, choices))};
    }
  }
  return std::nullopt;
}

SpecFinding check_command(const wire::JobSpec& spec) {
  const bool is_emulated = spec.kind() == "emulated";
  if (is_emulated != (spec.command_size() == 0)) {
    return SpecProblem{.field = "command",
                       .message = is_emulated ? "an emulated job runs no program"
                                              : "is required: which program trains?",
                       .suggestion = is_emulated ? "kind: elastic" : ""};
  }
  std::size_t bytes = 0;
  for (const std::string& word : spec.command()) {
    bytes += word.size() + 1;
    if (!is_program_text(word)) {
      return SpecProblem{.field = "command", .message = "contains a zero byte or is no UTF-8"};
    }
  }
  if (spec.command_size() > kCommandWordsMax || bytes > kCommandBytesMax) {
    return SpecProblem{.field = "command",
                       .message = fmt::format("is longer than {} words or {} bytes",
                                              kCommandWordsMax, kCommandBytesMax)};
  }
  if (!is_emulated && spec.command(0).empty()) {
    return SpecProblem{.field = "command", .message = "names no program"};
  }
  return std::nullopt;
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, [](char letter) {
           return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
         });
}

SpecFinding check_environment(const wire::JobSpec& spec) {
  if (spec.environment().size() > kVariablesMax) {
    return SpecProblem{.field = "environment",
                       .message = fmt::format("has more than {} variables", kVariablesMax)};
  }
  for (const auto& [name, value] : spec.environment()) {
    if (!is_variable_name(name) || !is_program_text(value) || value.size() > kCommandBytesMax) {
      return SpecProblem{.field = "environment",
                         .message = fmt::format("'{}' is no variable that a program could see",
                                                name.substr(0, kSpecNameMax))};
    }
  }
  return std::nullopt;
}

double number_of(const wire::JobSpec& spec, const JobField& field) {
  const auto* descriptor = wire::JobSpec::descriptor()->FindFieldByName(std::string(field.name));
  const auto* reflection = spec.GetReflection();
  switch (descriptor->cpp_type()) {
    case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
      return reflection->GetInt32(spec, descriptor);
    case google::protobuf::FieldDescriptor::CPPTYPE_UINT32:
      return reflection->GetUInt32(spec, descriptor);
    default:
      return reflection->GetDouble(spec, descriptor);
  }
}

// Zero is what a number has that was left out.
SpecFinding check_numbers(const wire::JobSpec& spec) {
  for (const JobField& field : job_fields()) {
    if (field.kind != JobFieldKind::Number && field.kind != JobFieldKind::Whole) {
      continue;
    }
    const double number = number_of(spec, field);
    const bool is_left_out = number == 0 && field.name != "steps";
    if (!is_left_out && !(number >= field.least && number <= field.most)) {
      return SpecProblem{
          .field = std::string(field.name),
          .message = number == 0 ? "is required: how much work is it?"
                                 : fmt::format("found {}, expected {} to {}", shortest(number),
                                               shortest(field.least), shortest(field.most))};
    }
  }
  return std::nullopt;
}

SpecFinding check_times(const wire::JobSpec& spec) {
  const std::string& deadline = spec.deadline();
  if (!deadline.empty()) {
    const bool is_relative =
        parse_duration(deadline.starts_with("now+") ? deadline.substr(4) : deadline).ok();
    if (!is_relative) {
      if (const auto moment = parse_rfc3339(deadline); !moment) {
        return SpecProblem{.field = "deadline", .message = moment.error().message};
      }
    }
    if (spec.class_() == "best_effort") {
      return SpecProblem{.field = "deadline",
                         .message = "a best_effort job has none",
                         .suggestion = "class: soft"};
    }
  } else if (spec.class_() == "slo" || spec.class_() == "soft") {
    return SpecProblem{.field = "class",
                       .message = fmt::format("a job of class {} needs a deadline", spec.class_()),
                       .suggestion = "best_effort"};
  }
  if (!spec.max_runtime().empty()) {
    if (const auto span = parse_duration(spec.max_runtime()); !span) {
      return SpecProblem{.field = "max_runtime", .message = span.error().message};
    }
  }
  return std::nullopt;
}

SpecFinding check_workers(const wire::JobSpec& spec) {
  const wire::WorkerLimits& limits = spec.workers();
  const auto problem = [](std::string message) {
    return SpecProblem{.field = "workers", .message = std::move(message)};
  };
  if (limits.min() < 0 || limits.max() < 0 || limits.min() > kJobWorkersMax ||
      limits.max() > kJobWorkersMax) {
    return problem(fmt::format("expected numbers from 1 to {}", kJobWorkersMax));
  }
  if (limits.max() != 0 && limits.min() > limits.max()) {
    SpecProblem swapped = problem(
        fmt::format("at least {} and at most {} cannot both hold", limits.min(), limits.max()));
    swapped.suggestion = fmt::format("{}-{}", limits.max(), limits.min());
    return swapped;
  }
  if (limits.listed_size() > 0 && (limits.min() != 0 || limits.max() != 0)) {
    return problem("give either a list or min and max");
  }
  if (limits.listed_size() > kJobSizesMax) {
    return problem(fmt::format("lists more than {} numbers", kJobSizesMax));
  }
  std::set<int> seen;
  for (const int count : limits.listed()) {
    if (count < 1 || count > kJobWorkersMax || !seen.insert(count).second) {
      return problem(fmt::format("{} is listed; expected distinct numbers from 1 to {}", count,
                                 kJobWorkersMax));
    }
  }
  return std::nullopt;
}

SpecFinding check_speeds(const wire::JobSpec& spec) {
  const auto problem = [](std::string message) {
    return SpecProblem{.field = "speeds", .message = std::move(message)};
  };
  if (spec.kind() == "emulated" && spec.speeds_size() == 0) {
    return problem("an emulated job needs them: how long would its steps take?");
  }
  if (spec.speeds_size() > kJobSizesMax) {
    return problem(fmt::format("has more than {} points", kJobSizesMax));
  }
  constexpr double kSpeedMax = 1e9;
  std::set<int> seen;
  for (const wire::SpeedPoint& point : spec.speeds()) {
    if (point.workers() < 1 || point.workers() > kJobWorkersMax ||
        !seen.insert(point.workers()).second) {
      return problem(fmt::format("{} workers; expected distinct numbers from 1 to {}",
                                 point.workers(), kJobWorkersMax));
    }
    if (!(point.steps_per_second() > 0 && point.steps_per_second() <= kSpeedMax)) {
      return problem(
          fmt::format("{} steps per second with {} workers; expected more than 0 and at "
                      "most {}",
                      point.steps_per_second(), point.workers(), kSpeedMax));
    }
  }
  return std::nullopt;
}

SpecFinding check_until(const wire::JobSpec& spec) {
  if (spec.until().empty()) {
    return std::nullopt;
  }
  if (auto problem = check_text("until", spec.until(), kSpecPathMax)) {
    return problem;
  }
  if (const auto rule = launch::metrics::parse_until(spec.until()); !rule) {
    return SpecProblem{.field = "until",
                       .message = rule.error().message,
                       .suggestion = launch::metrics::nearest_until(spec.until())};
  }
  if (spec.kind() == "emulated") {
    return SpecProblem{.field = "until",
                       .message = "an emulated job runs no program, so it has no metrics"};
  }
  return std::nullopt;
}

}  // namespace

std::string to_string(const SpecProblem& problem) {
  return fmt::format(
      "{}: {}{}", problem.field, problem.message,
      problem.suggestion.empty() ? "" : fmt::format("; did you mean '{}'?", problem.suggestion));
}

std::optional<SpecProblem> validate_spec(const wire::JobSpec& spec) {
  for (const auto check : {check_names, check_words, check_command, check_environment,
                           check_numbers, check_times, check_workers, check_speeds, check_until}) {
    if (auto found = check(spec)) {
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace rubato
