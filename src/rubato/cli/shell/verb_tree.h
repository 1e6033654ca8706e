// The program's verbs and flags as plain data, for what is made from them: completion, man pages.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

struct VerbOption {
  std::vector<std::string> names{};  // `-q`, `--quiet`; of a positional its one name.
  std::string about{};
  bool is_positional = false;
  bool is_required = false;
  bool takes_value = false;
};

/// One verb, or the program itself.
struct VerbPage {
  std::string path{};  // `rubato policy set`
  std::string about{};
  std::vector<VerbOption> options{};
  std::vector<std::string> verbs{};  // Below it.

  /// It asks for the id of a job.
  [[nodiscard]] bool takes_job() const;
};

/// The program first, then each verb followed by those below it.
[[nodiscard]] std::vector<VerbPage> verb_pages(const CLI::App& program);

}  // namespace rubato
