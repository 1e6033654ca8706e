// `rubato conduct DIR`: runs one job for an agent. Not for people.
#pragma once

namespace CLI {
class App;
}

namespace rubato {

void add_conduct_verb(CLI::App& app, int& code);

}  // namespace rubato
