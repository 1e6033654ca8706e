// `rubato up`: the platform on this machine.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

void add_up_verb(CLI::App& app, int& code);

}  // namespace rubato
