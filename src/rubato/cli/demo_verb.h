// `rubato demo`: a built-in trace under several policies, compared in a table and a picture.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace rubato {

void add_demo_verb(CLI::App& app, int& exit_code, const std::string& command);

}  // namespace rubato
