// `rubato check`: a dry run of a script's first steps, plain and shared, by `python3 -m
// rubato.check`; and its short form, which `rubato run` makes before it asks for a promise.
#pragma once

#include "rubato/wire/platform.pb.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

void add_check_verb(CLI::App& app, int& exit_code);

/// Tells on standard error what the first steps of a job's script show. False only if they show
/// that the job would fail or compute something wrong: what cannot be tried here is no reason.
[[nodiscard]] bool passes_short_check(const wire::JobSpec& spec);

}  // namespace rubato
