// Verbs on jobs that are there: status, list, why, blame, logs, cancel, scale, events.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

void add_job_verbs(CLI::App& app, int& exit_code);

}  // namespace rubato
