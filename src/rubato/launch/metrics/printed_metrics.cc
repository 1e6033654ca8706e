#include "rubato/launch/metrics/printed_metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "rubato/base/parse.h"
#include "rubato/launch/metrics/json_line.h"
#include "rubato/launch/metrics/metric.h"
#include "rubato/launch/metrics/metric_words.h"

namespace rubato::launch::metrics {
namespace {

constexpr std::size_t kPrintedNameMax = 64;
constexpr std::size_t kGapMax = 8;  // Spaces between a name and its number.

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}
bool is_blank(char letter) { return letter == ' ' || letter == '\t'; }
bool is_name_letter(char letter) {
  return is_letter(letter) || is_digit(letter) || letter == '_' || letter == '/' || letter == '.' ||
         letter == '-' || letter == '@';
}

// Without colours and the line's end; nothing if other control characters are in it.
std::optional<std::string> plain_text(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (letter == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      const std::size_t end = line.find_first_not_of("0123456789;?", i + 2);
      if (end == std::string_view::npos) {
        break;
      }
      i = end;
    } else if (letter == '\r' || letter == '\n') {
      text += ' ';
    } else if ((letter >= 0 && letter < ' ' && letter != '\t') || letter == 0x7F) {
      return std::nullopt;
    } else {
      text += letter;
    }
  }
  return text;
}

/// A number and what it says.
struct FoundNumber {
  double value = 0;
  bool is_whole = false;
  std::size_t end = 0;  // Of its text, with what belongs to it.
};

// True if a number may end in front of this position: not within a date, a version, a unit.
bool ends_at(std::string_view text, std::size_t at) {
  if (at == text.size()) {
    return true;
  }
  const char letter = text[at];
  const char after = at + 1 < text.size() ? text[at + 1] : ' ';
  if (letter == ',' || letter == ';' || letter == '.') {
    return !is_digit(after) && (letter != '.' || !is_name_letter(after));
  }
  return is_blank(letter) || letter == ')' || letter == ']' || letter == '}' || letter == '|' ||
         letter == '\'' || letter == '"';
}

// The digits from `at` on as a number: the value, and where they end.
std::optional<FoundNumber> digits_at(std::string_view text, std::size_t at) {
  const std::size_t first = at < text.size() && text[at] == '+' ? at + 1 : at;
  const std::size_t begin = first < text.size() && text[first] == '-' ? first + 1 : first;
  if (begin >= text.size() || !(is_digit(text[begin]) || text[begin] == '.')) {
    return std::nullopt;
  }
  FoundNumber number;
  const auto [end, failure] =
      std::from_chars(text.data() + first, text.data() + text.size(), number.value);
  if (failure != std::errc{} || !std::isfinite(number.value)) {
    return std::nullopt;
  }
  number.end = static_cast<std::size_t>(end - text.data());
  const std::string_view written = text.substr(first, number.end - first);
  // `0.5.` at the end of a sentence.
  if (written.ends_with('.') && written.size() > 1) {
    --number.end;
  }
  number.is_whole = written.find_first_of(".eE") == std::string_view::npos;
  return number;
}

// True for `word` in any case at this position, if no name goes on behind it.
bool is_word_at(std::string_view text, std::size_t at, std::string_view word) {
  return text.size() >= at + word.size() && is_same_name(text.substr(at, word.size()), word) &&
         (text.size() == at + word.size() || !is_name_letter(text[at + word.size()]));
}

// A number from this position on, for a metric of this name, or nothing.
std::optional<FoundNumber> number_at(std::string_view text, std::size_t at, std::string_view name) {
  constexpr std::string_view kTensor = "tensor(";
  const bool is_tensor = text.substr(at).starts_with(kTensor);
  at += is_tensor ? kTensor.size() : 0;
  const bool is_known = name_kind(name) == NameKind::Metric;
  const std::size_t word = at + (at < text.size() && (text[at] == '-' || text[at] == '+') ? 1 : 0);
  if (is_known && (is_word_at(text, word, "nan") || is_word_at(text, word, "inf"))) {
    return FoundNumber{.value = std::numeric_limits<double>::quiet_NaN(), .end = word + 3};
  }
  auto number = digits_at(text, at);
  if (!number) {
    return std::nullopt;
  }
  const bool is_part = number->end < text.size() && text[number->end] == '/';
  if (is_part && is_ratio(name)) {
    const auto whole = digits_at(text, number->end + 1);
    if (!whole || whole->value <= 0 || number->value < 0 || number->value > whole->value ||
        !ends_at(text, whole->end)) {
      return std::nullopt;
    }
    return FoundNumber{.value = number->value / whole->value, .end = whole->end};
  }
  const std::size_t unit = number->end;
  if (unit < text.size() && text[unit] == '%') {
    number->value /= 100;
    number->is_whole = false;
    number->end = unit + 1;
  } else if (unit + 1 < text.size() && text[unit] == ' ' && text[unit + 1] == '%') {
    number->value /= 100;
    number->is_whole = false;
    number->end = unit + 2;
  }
  if (!ends_at(text, number->end) || (number->is_whole && !is_known)) {
    return std::nullopt;
  }
  return number;
}

/// Looks for pairs in a line, from left to right.
class LineScanner {
 public:
  explicit LineScanner(std::string_view text) : text_(text) {}

  [[nodiscard]] std::vector<PrintedNumber> scan() {
    while (at_ < text_.size() && found_.size() < kPrintedPairsMax) {
      if (skip_call()) {
        continue;
      }
      if (begins_word()) {
        take_word();
      } else {
        if (!is_blank(text_[at_])) {
          words_ = {};
        }
        ++at_;
      }
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool begins_word() const {
    return is_letter(text_[at_]) && (at_ == 0 || !is_name_letter(text_[at_ - 1]));
  }

  // What stands in the brackets of `Dropout(p=0.25)` are arguments, and no news.
  bool skip_call() {
    if (text_[at_] != '(' || at_ == 0 || !is_name_letter(text_[at_ - 1])) {
      return false;
    }
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      depth += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
      if (depth == 0) {
        ++at_;
        break;
      }
    }
    words_ = {};
    return true;
  }

  // A word, and the number behind it if there is one.
  void take_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_letter(text_[at_])) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    const std::size_t first = pending_begin(begin);
    // `accuracy is 0.9`, and `Accuracy of the network on 10000 images: 55 %`.
    const bool is_link = first < begin && (word == "is" || word == "was" || word == "of");
    std::string name(text_.substr(first, (is_link ? begin - 1 : at_) - first));
    if (is_link) {
      subject_ = name;
    } else if (!subject_.empty() && name_kind(name) == NameKind::Unknown) {
      name = subject_;
    }
    words_ = {};
    if (take_number(name, is_link ? name : word)) {
      subject_.clear();
    } else if (is_qualifier(word)) {
      words_ = {.begin = first, .end = at_};
    }
  }

  // The number behind the name that ends here; `word` is the last of its words.
  bool take_number(const std::string& name, std::string_view word) {
    const std::size_t after = behind_separator(word);
    if (after == 0 || name.size() > kPrintedNameMax || name_kind(name) == NameKind::Counter) {
      return false;
    }
    const auto number = number_at(text_, after, name);
    if (number) {
      keep({.name = clean_name(name), .value = number->value});
      at_ = number->end;
    }
    return number.has_value();
  }

  // Where the qualifiers in front of this position begin; the position itself without any.
  [[nodiscard]] std::size_t pending_begin(std::size_t begin) const {
    const bool is_next = words_.end != 0 && words_.end + 1 == begin;
    return is_next ? words_.begin : begin;
  }

  // Where a number would have to stand, or zero.
  [[nodiscard]] std::size_t behind_separator(std::string_view word) const {
    std::size_t at = at_;
    if (at < text_.size() && (text_[at] == '\'' || text_[at] == '"')) {
      ++at;  // The name of a printed dictionary.
    }
    const std::size_t gap = skip_blanks(at);
    if (gap == text_.size() || gap - at > kGapMax) {
      return 0;
    }
    if (text_[gap] == '=' || text_[gap] == ':') {
      const std::size_t value = skip_blanks(gap + 1);
      return value == text_.size() || value - gap > kGapMax ? 0 : value;
    }
    return gap > at_ && at == at_ && name_kind(word) == NameKind::Metric ? gap : 0;
  }

  [[nodiscard]] std::size_t skip_blanks(std::size_t at) const {
    while (at < text_.size() && is_blank(text_[at])) {
      ++at;
    }
    return at;
  }

  void keep(PrintedNumber number) {
    if (!number.name.empty() &&
        std::ranges::find(found_, number.name, &PrintedNumber::name) == found_.end()) {
      found_.push_back(std::move(number));
    }
  }

  /// Words that belong to the name that may follow them.
  struct Pending {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::string_view text_;
  std::size_t at_ = 0;
  Pending words_{};
  std::string subject_{};  // Of a sentence whose number stands behind other words.
  std::vector<PrintedNumber> found_{};
};

// Settings, said once at the start.
bool is_dump(std::string_view text) {
  return text.find("Namespace(") != std::string_view::npos ||
         text.find("://") != std::string_view::npos;
}

}  // namespace

std::vector<PrintedNumber> printed_metrics(std::string_view line) {
  if (line.size() > kPrintedLineMax) {
    return {};
  }
  const auto text = plain_text(line);
  if (!text || is_dump(*text)) {
    return {};
  }
  if (auto object = json_line_metrics(trimmed(*text))) {
    return *std::move(object);
  }
  return LineScanner(*text).scan();
}

}  // namespace rubato::launch::metrics
