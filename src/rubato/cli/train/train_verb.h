// `rubato train`: runs one elastic training job on this machine, without any controller. It starts
// workers with the code that agents use, resizes and disturbs them as told, and shows what it cost.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

void add_train_verb(CLI::App& app, int& exit_code);

}  // namespace rubato
