// The verbs `rubato trace lint|convert|generate|formats`.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

/// Adds `trace` with its verbs to the program. When one is called, its exit code is stored in
/// `exit_code`, which must outlive the parsing.
void add_trace_verbs(CLI::App& app, int& exit_code);

}  // namespace rubato
