#include "rubato/base/spelling.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace rubato {
namespace {

constexpr std::size_t kWordMax = 64;  // Longer words are compared by their beginning.

char folded(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

// Insertions, deletions and replacements that turn one word into the other; case is ignored.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (folded(from[i - 1]) == folded(to[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_spelling(std::string_view word,
                                  std::span<const std::string_view> candidates) {
  word = word.substr(0, kWordMax);
  std::string_view nearest;
  std::size_t fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t needed = edits(word, candidate.substr(0, kWordMax));
    // Words that have no letter in common are never meant, however short they are.
    if (needed < fewest && needed < std::max(word.size(), candidate.size())) {
      fewest = needed;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_spelling(word, candidates);
  return nearest.empty() ? std::string{} : "; did you mean '" + std::string(nearest) + "'?";
}

}  // namespace rubato
