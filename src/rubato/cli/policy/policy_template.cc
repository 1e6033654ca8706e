#include "rubato/cli/policy/policy_template.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace rubato {
namespace {

constexpr std::size_t kNameMax = 21;  // Longer ones would break the template's lines.
constexpr std::string_view kLine = "RUBATO_POLICY(";

// CMake would take a file of this name for something else than part of the library.
constexpr std::array<std::string_view, 3> kTakenEndings = {"test", "fuzz", "bench"};
// Its folder is a namespace as well, which may be no word of C++ and hide no other namespace.
constexpr auto kTakenNames = std::to_array<std::string_view>(
    {"and",     "asm",       "auto",      "bool",     "break",    "case",     "catch",
     "char",    "class",     "const",     "delete",   "do",       "double",   "else",
     "enum",    "explicit",  "export",    "extern",   "false",    "float",    "fmt",
     "for",     "friend",    "goto",      "if",       "inline",   "int",      "long",
     "main",    "mutable",   "namespace", "new",      "not",      "operator", "or",
     "private", "protected", "public",    "rc",       "register", "requires", "return",
     "rubato",  "short",     "signed",    "sizeof",   "static",   "std",      "struct",
     "switch",  "template",  "testing",   "this",     "throw",    "torch",    "true",
     "try",     "typedef",   "typeid",    "typename", "union",    "unsigned", "using",
     "virtual", "void",      "volatile",  "while",    "xor"});

bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string renamed(std::string_view text, const PolicyName& name) {
  std::string result = replaced(std::string(text), "FirstCome", name.pascal);
  result = replaced(std::move(result), "first_come", name.snake);
  return replaced(std::move(result), "first-come", name.words);
}

Error bad_name(std::string_view text, std::string_view why) {
  return bad_input(fmt::format("'{}' cannot be the name of a policy: {}", text, why));
}

}  // namespace

Result<PolicyName> parse_policy_name(std::string_view text) {
  if (text.empty() || !is_small_letter(text.front())) {
    return bad_name(text, "it must start with a small letter");
  }
  if (text.size() > kNameMax) {
    return bad_name(text, fmt::format("it has {} characters, at most {}", text.size(), kNameMax));
  }
  PolicyName name{.words = std::string(text)};
  bool starts_word = true;
  for (const char c : text) {
    if (c == '-' && !starts_word) {
      starts_word = true;
      name.snake += '_';
      continue;
    }
    if (!is_small_letter(c) && !is_digit(c)) {
      return bad_name(text, "expected words of small letters and digits joined by '-'");
    }
    name.snake += c;
    name.pascal += starts_word && is_small_letter(c) ? static_cast<char>(c - 'a' + 'A') : c;
    starts_word = false;
  }
  const std::string_view last = text.substr(text.rfind('-') + 1);
  if (starts_word) {
    return bad_name(text, "it must not end in '-'");
  }
  if (std::ranges::find(kTakenNames, text) != kTakenNames.end()) {
    return bad_name(text, "no namespace can be called so");
  }
  if (std::ranges::find(kTakenEndings, last) != kTakenEndings.end()) {
    return bad_name(text, fmt::format("files ending in '{}' are no part of the library", last));
  }
  return name;
}

std::vector<TemplateFile> policy_files(const PolicyName& name) {
  const std::string stem = name.snake + '/' + name.snake;
  return {{.name = stem + ".h", .text = renamed(template_header(), name)},
          {.name = stem + ".cc", .text = renamed(template_source(), name)},
          {.name = stem + "_test.cc", .text = renamed(template_test(), name)}};
}

std::string policy_line(const PolicyName& name) {
  return fmt::format("{}{}, {})", kLine, name.snake, name.snake);
}

std::string with_policy_line(std::string_view registered, const PolicyName& name) {
  const std::string line = policy_line(name) + '\n';
  std::size_t at = 0;
  while (at < registered.size()) {
    const std::size_t end = std::min(registered.find('\n', at), registered.size() - 1) + 1;
    const std::string_view there = registered.substr(at, end - at);
    if (there.starts_with(kLine) && there > line) {
      break;
    }
    at = end;
  }
  std::string text(registered);
  if (at == text.size() && !text.empty() && text.back() != '\n') {
    text += '\n';
    ++at;
  }
  return text.insert(at, line);
}

}  // namespace rubato
