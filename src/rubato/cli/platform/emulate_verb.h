// `rubato emulate`: a worker of an emulated job. Not for people.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

void add_emulate_verb(CLI::App& app, int& code);

}  // namespace rubato
