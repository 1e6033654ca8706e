// Whether a job makes sense, whoever wrote it: the command line asks before it sends, the server
// asks again.
#pragma once

#include <optional>
#include <string>

#include "rubato/wire/platform.pb.h"

namespace rubato {

/// What is wrong with a spec.
struct SpecProblem {
  std::string field{};
  std::string message{};
  std::string suggestion{};  // What to write instead, if that can be guessed.
};

/// `field: message; did you mean ...?` on one line.
[[nodiscard]] std::string to_string(const SpecProblem& problem);

/// The first problem, in the order of the table of fields; nothing if there is none. A deadline
/// must be absolute or relative to now: which `18:00` is meant only its writer's clock knows.
[[nodiscard]] std::optional<SpecProblem> validate_spec(const wire::JobSpec& spec);

}  // namespace rubato
