// `rubato policy list`: every scheduler that can be named, with where it comes from; `policy new`;
// and which of them a platform uses.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

void add_policy_verb(CLI::App& app, int& exit_code);

}  // namespace rubato
