// `rubato conduct DIR`: runs one job for an agent. Not for people.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

void add_conduct_verb(CLI::App& app, int& code);

}  // namespace rubato
