#include "rubato/launch/script/python_command.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <system_error>

namespace rubato::launch::script {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTextMax = std::size_t{4} << 20U;  // Of a main file; more is not looked at.

// The text of a file, empty if it cannot be read.
std::string file_text(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure) || fs::file_size(path, failure) > kTextMax) {
    return {};
  }
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// How many characters the string literal that begins here has, with its quotes.
std::size_t literal_length(std::string_view text) {
  const char quote = text.front();
  const std::string three(3, quote);
  const bool is_long = text.starts_with(three);
  std::size_t at = is_long ? 3 : 1;
  while (at < text.size()) {
    if (text[at] == '\\') {
      at += 2;
    } else if (is_long ? text.substr(at).starts_with(three) : text[at] == quote) {
      return at + (is_long ? 3 : 1);
    } else if (!is_long && text[at] == '\n') {
      return at;  // Not closed: a mistake, or no literal at all.
    } else {
      ++at;
    }
  }
  return text.size();
}

// The text without comments and string literals.
std::string code_alone(std::string_view text) {
  std::string code;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (text[at] == '"' || text[at] == '\'') {
      code += ' ';
      at += literal_length(text.substr(at));
    } else {
      code += text[at++];
    }
  }
  return code;
}

// Where `python3 -m name` finds its program: the working directory first, then PYTHONPATH.
fs::path module_file(const std::string& name, const std::string& directory,
                     const Environment& environment) {
  std::string relative = name;
  std::ranges::replace(relative, '.', '/');
  const std::string folders =
      directory + ":" + std::string(value_or(environment, "PYTHONPATH", ""));
  std::size_t begin = 0;
  while (begin <= folders.size()) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const fs::path folder = fs::path(directory) / folders.substr(begin, end - begin);
    for (const fs::path& path : {folder / (relative + ".py"), folder / relative / "__main__.py"}) {
      std::error_code failure;
      if (end > begin && fs::is_regular_file(path, failure)) {
        return path;
      }
    }
    begin = end + 1;
  }
  return {};
}

/// What one word of the interpreter's options says.
struct OptionWord {
  char last = 0;           // c, m, W or X if the word ends what precedes an argument.
  std::string argument{};  // That follows in the same word.
  bool is_isolating = false;
};

OptionWord option_word(std::string_view word) {
  OptionWord found;
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (std::string_view("cmWX").find(word[i]) != std::string_view::npos) {
      found.last = word[i];
      found.argument = word.substr(i + 1);
      return found;
    }
    found.is_isolating =
        found.is_isolating || std::string_view("EIS").find(word[i]) != std::string_view::npos;
  }
  return found;
}

}  // namespace

bool is_python_program(std::string_view word) {
  std::string_view name = word.substr(word.rfind('/') + 1);
  constexpr std::string_view kPython = "python";
  if (!name.starts_with(kPython)) {
    return false;
  }
  name.remove_prefix(kPython.size());
  return name.empty() ||
         (name.front() == '3' && name.find_first_not_of("0123456789.") == std::string_view::npos);
}

std::optional<PythonCommand> python_command(const std::vector<std::string>& argv) {
  if (argv.empty()) {
    return std::nullopt;
  }
  if (!is_python_program(argv.front())) {
    // A script that names its interpreter itself.
    return argv.front().ends_with(".py") ? std::optional(PythonCommand{.main = argv.front()})
                                         : std::nullopt;
  }
  PythonCommand command;
  for (std::size_t at = 1; at < argv.size(); ++at) {
    const std::string& word = argv[at];
    if (!word.starts_with('-')) {
      command.main = word;
      return command;
    }
    if (word == "-" || word.starts_with("--")) {
      return std::nullopt;
    }
    OptionWord option = option_word(word);
    command.is_isolated = command.is_isolated || option.is_isolating;
    if (option.last != 0 && option.argument.empty()) {
      ++at;
      option.argument = at < argv.size() ? argv[at] : "";
    }
    if (option.last == 'c' || option.last == 'm') {
      command.kind = option.last == 'c' ? PythonCommand::Kind::Text : PythonCommand::Kind::Module;
      command.main = option.argument;
      return command;
    }
  }
  return std::nullopt;
}

bool uses_trainer(std::string_view text) {
  const std::string code = code_alone(text);
  static const std::regex kDirect(R"(\brubato\s*\.\s*Trainer\b)");
  static const std::regex kImported(
      R"(\bfrom\s+rubato\s+import\s+(\([^)]*\bTrainer\b|[^\n(]*\bTrainer\b))");
  static const std::regex kModule(R"(\brubato\s*\.\s*trainer\b)");
  static const std::regex kRenamed(R"(\bimport\s+rubato\s+as\s+(\w+))");
  if (std::regex_search(code, kDirect) || std::regex_search(code, kImported) ||
      std::regex_search(code, kModule)) {
    return true;
  }
  std::smatch renamed;
  return std::regex_search(code, renamed, kRenamed) &&
         std::regex_search(code, std::regex("\\b" + renamed[1].str() + R"(\s*\.\s*Trainer\b)"));
}

bool runs_as_script(const std::vector<std::string>& argv, const std::string& directory,
                    const Environment& environment) {
  const auto command = python_command(argv);
  if (!command) {
    return false;
  }
  switch (command->kind) {
    case PythonCommand::Kind::Text:
      return !uses_trainer(command->main);
    case PythonCommand::Kind::Module:
      return !uses_trainer(file_text(module_file(command->main, directory, environment)));
    case PythonCommand::Kind::Script:
      break;
  }
  fs::path main = fs::path(directory) / command->main;
  std::error_code failure;
  if (fs::is_directory(main, failure)) {
    main /= "__main__.py";
  }
  return !uses_trainer(file_text(main));
}

}  // namespace rubato::launch::script
