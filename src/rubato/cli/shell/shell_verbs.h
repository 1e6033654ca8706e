// `rubato completion` and `rubato man`: what shells and man(1) want to know about the program.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

/// To be added last: they describe all verbs that `app` has when they are called.
void add_shell_verbs(CLI::App& app, int& exit_code);

}  // namespace rubato
