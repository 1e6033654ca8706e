// The options of a policy as text, `key=value,key=value`; each policy turns them into its struct.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/base/time.h"

namespace rubato {

/// Parsed but not yet understood; every value must be asked for by a known key.
class PolicyOptions {
 public:
  static Result<PolicyOptions> parse(std::string_view text);

  /// Fails, with the nearest spelling, if a key is not one of these.
  [[nodiscard]] Status only(std::span<const std::string_view> known) const;

  [[nodiscard]] Result<double> number(std::string_view key, double fallback, double min,
                                      double max) const;
  [[nodiscard]] Result<bool> flag(std::string_view key, bool fallback) const;
  [[nodiscard]] Result<std::string> word(std::string_view key, std::string_view fallback,
                                         std::span<const std::string_view> known) const;
  /// Numbers separated by '/'.
  [[nodiscard]] Result<std::vector<double>> numbers(std::string_view key,
                                                    std::vector<double> fallback) const;

 private:
  [[nodiscard]] const std::string* find(std::string_view key) const;

  std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace rubato
