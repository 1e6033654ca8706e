#include "rubato/trace/text/diagnostic.h"

#include "rubato/base/spelling.h"

namespace rubato {
namespace {

constexpr std::size_t kShownBytesMax = 40;

}  // namespace

std::string_view to_string(Severity severity) {
  return severity == Severity::Error ? "error" : "warning";
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = diagnostic.file;
  if (diagnostic.line > 0) {
    text += ":" + std::to_string(diagnostic.line);
  }
  text += ": ";
  if (!diagnostic.field.empty()) {
    text += diagnostic.field + ": ";
  }
  text += diagnostic.message;
  if (!diagnostic.suggestion.empty()) {
    text += "; " + diagnostic.suggestion;
  }
  return text;
}

std::string shown(std::string_view text) {
  std::string result = "'";
  for (const char letter : text.substr(0, kShownBytesMax)) {
    const auto code = static_cast<unsigned char>(letter);
    result += code < 0x20 || code == 0x7f ? '?' : letter;
  }
  result += text.size() > kShownBytesMax ? "...'" : "'";
  return result;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_spelling(word, candidates);
  return nearest.empty() ? std::string{} : "did you mean '" + std::string(nearest) + "'?";
}

}  // namespace rubato
