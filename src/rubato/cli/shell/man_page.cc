#include "rubato/cli/shell/man_page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace rubato {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kVariables = {
    {{"RUBATO_SERVER", "Address of the platform; --server wins over it."},
     {"RUBATO_TOKEN", "Your token."},
     {"RUBATO_TOKEN_FILE", "A file with your token."},
     {"NO_COLOR", "If set, no colours."},
     {"TZ", "The time zone in which times are read and shown."}}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kExitCodes = {
    {{"0", "All went well; of run and submit --wait, the job's own code."},
     {"64", "The command line cannot be understood."},
     {"65", "Bad input, such as a job file with an unknown field."},
     {"69", "No server."},
     {"70", "A bug."},
     {"77", "Not permitted."},
     {"78", "Bad configuration."},
     {"80", "The deadline cannot be promised; counter-offers are printed."},
     {"81", "The job finished after its promise (with --strict-deadline)."},
     {"83", "The job was cancelled."},
     {"84", "The job has not finished; it goes on without this terminal."},
     {"85", "No such job."}}};

// Text as roff wants it.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\\') {
      escaped += "\\e";
    } else if (letter == '-') {
      escaped += "\\-";
    } else if (letter == '\n') {
      escaped += ' ';
    } else {
      escaped += letter;
    }
  }
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string dashed(std::string path) {
  std::ranges::replace(path, ' ', '-');
  return path;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return std::toupper(letter); });
  return text;
}

std::string synopsis(const VerbPage& page) {
  std::string line = fmt::format(".B {}\n", roff(page.path));
  if (!page.verbs.empty()) {
    line += ".I VERB\n";
  }
  line += "[\\fIOPTION\\fR]...\n";
  for (const VerbOption& option : page.options) {
    if (option.is_positional) {
      const std::string name = roff(upper(option.names.front()));
      line += option.is_required ? fmt::format("\\fI{}\\fR\n", name)
                                 : fmt::format("[\\fI{}\\fR]\n", name);
    }
  }
  return line;
}

std::string option_entry(const VerbOption& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ",
                         roff(option.is_positional ? upper(name) : name));
  }
  if (option.takes_value && !option.is_positional) {
    names += " \\fIVALUE\\fR";
  }
  return fmt::format(".TP\n{}\n{}\n", names, roff(option.about));
}

std::string option_entries(const VerbPage& page) {
  std::string text;
  for (const VerbOption& option : page.options) {
    text += option_entry(option);
  }
  return text;
}

std::string verbs_of(const VerbPage& page, std::span<const VerbPage> pages) {
  std::string text;
  for (const VerbPage& child : pages) {
    const bool is_child = child.path.size() > page.path.size() &&
                          child.path.starts_with(page.path + " ") &&
                          child.path.find(' ', page.path.size() + 1) == std::string::npos;
    if (is_child) {
      text += fmt::format(".TP\n.B {}\n{}\n", roff(child.path.substr(page.path.size() + 1)),
                          roff(child.about));
    }
  }
  return text;
}

template <typename Entries>
std::string entries_text(std::string_view title, const Entries& entries) {
  std::string text = fmt::format(".SH {}\n", title);
  for (const auto& [name, about] : entries) {
    text += fmt::format(".TP\n.B {}\n{}\n", name, roff(about));
  }
  return text;
}

// The page of a verb with those below it.
std::string page_text(const VerbPage& page, std::span<const VerbPage> pages) {
  const bool is_program = page.path.find(' ') == std::string::npos;
  std::string text = fmt::format(".TH {} 1 \"\" \"rubato {}\" \"Rubato\"\n",
                                 upper(roff(dashed(page.path))), RUBATO_VERSION);
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(dashed(page.path)), roff(page.about));
  text += ".SH SYNOPSIS\n" + synopsis(page);
  text += ".SH OPTIONS\n" + option_entries(page);
  if (!page.verbs.empty()) {
    text += ".SH VERBS\n" + verbs_of(page, pages);
  }
  for (const VerbPage& below : pages) {
    if (!is_program && below.path.starts_with(page.path + " ")) {
      text += fmt::format(".SH {}\n{}\n.PP\n{}{}", upper(roff(below.path)), roff(below.about),
                          synopsis(below), option_entries(below));
    }
  }
  if (is_program) {
    text += entries_text("ENVIRONMENT", kVariables);
  }
  return text + entries_text("EXIT STATUS", kExitCodes) +
         (is_program ? "" : ".SH SEE ALSO\n.BR rubato (1)\n");
}

}  // namespace

std::vector<ManPage> man_pages(std::span<const VerbPage> pages) {
  std::vector<ManPage> made;
  for (const VerbPage& page : pages) {
    if (std::ranges::count(page.path, ' ') <= 1) {
      made.push_back({.file = dashed(page.path) + ".1", .text = page_text(page, pages)});
    }
  }
  return made;
}

}  // namespace rubato
