// `rubato agent`, also `rubato node add`: offers this machine to a platform elsewhere.
#pragma once

namespace CLI {
class App;
}

namespace rubato {

/// Runs until it is told to end; jobs go on without it.
void add_agent_verb(CLI::App& app, const char* name, int& code);

}  // namespace rubato
