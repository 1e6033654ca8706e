#include "rubato/spec/shell_words.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace rubato {
namespace {

constexpr std::string_view kShellOnly = "|&;<>()$`*?[]{}~#!\n";
constexpr std::string_view kEscapedInQuotes = "\"\\$`";

/// Goes through the text once.
class WordCutter {
 public:
  explicit WordCutter(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> cut() {
    while (at_ < text_.size()) {
      if (auto problem = take()) {
        return bad_input(*problem);
      }
    }
    end_word();
    return std::move(words_);
  }

 private:
  // Takes one letter or one quoted part; says what is wrong with it.
  std::optional<std::string> take() {
    const char letter = text_[at_++];
    if (letter == '\'' || letter == '"') {
      return take_quoted(letter);
    }
    if (letter == '\\') {
      if (at_ == text_.size()) {
        return "ends with a backslash";
      }
      add(text_[at_++]);
    } else if (letter == ' ' || letter == '\t') {
      end_word();
    } else if (kShellOnly.find(letter) != std::string_view::npos) {
      return fmt::format("{} means something to a shell only: quote it, or write [sh, -c, \"...\"]",
                         letter == '\n' ? "a new line" : fmt::format("'{}'", letter));
    } else {
      add(letter);
    }
    return std::nullopt;
  }

  std::optional<std::string> take_quoted(char quote) {
    is_word_ = true;  // Even if nothing is between the quotes.
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
          kEscapedInQuotes.find(text_[at_ + 1]) != std::string_view::npos) {
        ++at_;
      } else if (quote == '"' && (text_[at_] == '$' || text_[at_] == '`')) {
        return fmt::format("'{}' is not expanded: use single quotes, or write [sh, -c, \"...\"]",
                           text_[at_]);
      }
      add(text_[at_++]);
    }
    if (at_ == text_.size()) {
      return fmt::format("{} is not closed", quote);
    }
    ++at_;
    return std::nullopt;
  }

  void add(char letter) {
    is_word_ = true;
    word_ += letter;
  }

  void end_word() {
    if (std::exchange(is_word_, false)) {
      words_.push_back(std::exchange(word_, {}));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool is_word_ = false;
  std::string word_{};
  std::vector<std::string> words_{};
};

bool is_plain(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         std::string_view("-_./:=,+@%").find(letter) != std::string_view::npos;
}

}  // namespace

Result<std::vector<std::string>> shell_words(std::string_view text) {
  return WordCutter(text).cut();
}

std::string shell_text(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "" : " ";
    if (!word.empty() && std::ranges::all_of(word, is_plain)) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char letter : word) {
      text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    }
    text += '\'';
  }
  return text;
}

}  // namespace rubato
