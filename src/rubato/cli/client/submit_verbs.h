// `rubato run`, `rubato submit` and `rubato quote`: a job described by flags, a file or both.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

void add_submit_verbs(CLI::App& app, int& exit_code);

}  // namespace rubato
