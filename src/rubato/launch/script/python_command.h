// What a Python command runs, read from its words and, where its program can be found, from its
// text: this decides before anything starts whether a job runs as a script or in every worker.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/launch/environment.h"

namespace rubato::launch::script {

/// True for `python`, `python3`, `/usr/bin/python3.11`.
[[nodiscard]] bool is_python_program(std::string_view word);

/// What the interpreter was told to run.
struct PythonCommand {
  enum class Kind { Script, Module, Text };

  Kind kind = Kind::Script;
  std::string main{};        // A path, the name of a module, or the text after -c.
  bool is_isolated = false;  // By -E, -I or -S: what we put in its path is not loaded.
};

/// Nothing if the command is not Python's, or has no program (`python3 -`, `python3 --version`).
[[nodiscard]] std::optional<PythonCommand> python_command(const std::vector<std::string>& argv);

/// True if a program uses `rubato.Trainer`; comments and strings do not count.
[[nodiscard]] bool uses_trainer(std::string_view text);

/// True if the command is to run once, in one process, with its model's work shared: Python, and
/// its main file does not use `rubato.Trainer`. A main file that cannot be found is not one of
/// ours.
[[nodiscard]] bool runs_as_script(const std::vector<std::string>& argv,
                                  const std::string& directory, const Environment& environment);

}  // namespace rubato::launch::script
