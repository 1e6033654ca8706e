// `rubato doctor`: what stands in the way of training on this machine, and what to do about it.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

void add_doctor_verb(CLI::App& app, int& exit_code);

}  // namespace rubato
