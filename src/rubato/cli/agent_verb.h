// `rubato agent`: offers this machine to a controller elsewhere.
#pragma once

namespace CLI {
class App;
}

namespace rubato {

void add_agent_verb(CLI::App& app, int& code);

}  // namespace rubato
