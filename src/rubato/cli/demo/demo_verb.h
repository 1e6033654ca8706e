// `rubato demo`: real jobs on this machine; with --sim a built-in trace under several policies.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

void add_demo_verb(CLI::App& app, int& exit_code, const std::string& command);

}  // namespace rubato
