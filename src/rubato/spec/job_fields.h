// The one table of what a job file may say: the parser, the flags of `rubato run`, the JSON schema,
// the document and the server's checks all read it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/spec/deadline_text.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

enum class JobFieldKind {
  Text,
  Choice,
  CommandLine,
  Variables,
  Number,
  Whole,
  Deadline,
  Length,  // Of time.
  Workers,
  Speeds,
  Rule,  // On a metric; see launch/metrics/until_rule.h.
};

/// One field of wire::JobSpec.
struct JobField {
  std::string_view name{};
  JobFieldKind kind = JobFieldKind::Text;
  std::string_view flag{};     // Of `rubato run`; empty: only in files.
  std::string_view example{};  // As it stands in YAML.
  std::string_view preset{};   // What holds without it, in words.
  std::string_view help{};
  double least = 0;  // Of numbers.
  double most = 0;
  std::span<const std::string_view> choices{};
};

/// In the order of the message.
[[nodiscard]] std::span<const JobField> job_fields();
[[nodiscard]] const JobField* find_job_field(std::string_view name);

/// "; did you mean 'x'?" for a name that is no field; knows what other systems call things.
[[nodiscard]] std::string field_suggestion(std::string_view name);

/// Reads one value. Maps and lists are written on one line: `1-8`, `1:10,2:19`, `NAME=value`, a
/// command by the rules of shells. Environment variables are added to those already there.
[[nodiscard]] Status set_job_field(const JobField& field, std::string_view text,
                                   const WallClock& clock, wire::JobSpec& spec);

}  // namespace rubato
