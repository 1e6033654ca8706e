#include "rubato/cli/shell/completion.h"

#include <array>

#include <fmt/format.h>

#include "rubato/base/spelling.h"

namespace rubato {
namespace {

constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};
constexpr std::string_view kAskForJobs = "$(rubato list --quiet --timeout 2 2>/dev/null)";

// All that may follow a verb: verbs below it and flags.
std::string next_words(const VerbPage& page) {
  std::string words;
  for (const std::string& verb : page.verbs) {
    words += " " + verb;
  }
  for (const VerbOption& option : page.options) {
    for (const std::string& name : option.names) {
      words += option.is_positional ? "" : " " + name;
    }
  }
  return words.empty() ? words : words.substr(1);
}

// `case` branches that go down the tree: bash and zsh read them alike.
std::string descents(std::span<const VerbPage> pages) {
  std::string text;
  for (const VerbPage& page : pages.subspan(1)) {
    text += fmt::format("{}\"{}\"", text.empty() ? "      " : "|", page.path);
  }
  return text + ") at=\"$at $word\" ;;\n";
}

std::string choices(std::span<const VerbPage> pages) {
  std::string text;
  for (const VerbPage& page : pages) {
    text += fmt::format("    \"{}\") found=\"{}{}\" ;;\n", page.path, next_words(page),
                        page.takes_job() ? fmt::format(" {}", kAskForJobs) : "");
  }
  return text;
}

std::string bash_script(std::span<const VerbPage> pages) {
  return fmt::format(R"(# Completion of rubato for bash: source <(rubato completion bash)
_rubato() {{
  local at=rubato found= word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [ "$word" = -- ] && return
    case "$at $word" in
{}    esac
  done
  case "$at" in
{}  esac
  COMPREPLY=($(compgen -W "$found" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _rubato rubato
)",
                     descents(pages), choices(pages));
}

std::string zsh_script(std::span<const VerbPage> pages) {
  return fmt::format(R"(#compdef rubato
# Completion of rubato for zsh: source <(rubato completion zsh)
_rubato() {{
  local at=rubato found= word
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    [ "$word" = -- ] && {{ _files; return }}
    case "$at $word" in
{}    esac
  done
  case "$at" in
{}  esac
  compadd -- ${{=found}} || _files
}}
compdef _rubato rubato
)",
                     descents(pages), choices(pages));
}

// In single quotes, as fish reads them.
std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) {
    quoted +=
        letter == '\'' || letter == '\\' ? std::string("\\") + letter : std::string(1, letter);
  }
  return quoted + "'";
}

std::string fish_option(const std::string& condition, const VerbOption& option) {
  std::string line = fmt::format("complete -c rubato -n {}", condition);
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                   : fmt::format(" -s {}", name.substr(1));
  }
  return line +
         fmt::format("{} -d {}\n", option.takes_value ? " -r" : "", fish_quoted(option.about));
}

std::string fish_script(std::span<const VerbPage> pages) {
  std::string text = fmt::format(R"(# Completion of rubato for fish: rubato completion fish | source
function __rubato_at
  set -l at rubato
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case {}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
)",
                                 [&] {
                                   std::string paths;
                                   for (const VerbPage& page : pages.subspan(1)) {
                                     paths += fmt::format(" '{}'", page.path);
                                   }
                                   return paths.empty() ? paths : paths.substr(1);
                                 }());
  for (const VerbPage& page : pages) {
    const std::string condition = fmt::format("\"__rubato_at '{}'\"", page.path);
    for (const std::string& verb : page.verbs) {
      text += fmt::format("complete -c rubato -f -n {} -a {}\n", condition, verb);
    }
    if (page.takes_job()) {
      text += fmt::format(
          "complete -c rubato -f -n {} -a '(rubato list --quiet --timeout 2 "
          "2>/dev/null)'\n",
          condition);
    }
    for (const VerbOption& option : page.options) {
      text += option.is_positional ? "" : fish_option(condition, option);
    }
  }
  return text;
}

}  // namespace

Result<std::string> completion_script(std::string_view shell, std::span<const VerbPage> pages) {
  if (shell == "bash") {
    return bash_script(pages);
  }
  if (shell == "zsh") {
    return zsh_script(pages);
  }
  if (shell == "fish") {
    return fish_script(pages);
  }
  return bad_input(
      fmt::format("found '{}', expected bash, zsh or fish{}", shell, suggestion(shell, kShells)));
}

}  // namespace rubato
