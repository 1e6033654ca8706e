// `rubato agent`, also `rubato node add`: offers this machine to a platform elsewhere.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

/// Runs until it is told to end; jobs go on without it.
void add_agent_verb(CLI::App& app, const char* name, int& code);

}  // namespace rubato
