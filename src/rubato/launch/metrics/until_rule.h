// `--until "accuracy >= 0.9"`: a job may end before its last step, once a metric of it is good
// enough. The rule is text on the way from the user to the process that supervises the job; both
// the command line and the server read it with this.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/launch/metrics/metric.h"

namespace rubato::launch::metrics {

inline constexpr int kPatienceMax = 1'000'000;

enum class Comparison { AtLeast, AtMost, Above, Below };

/// The metric, the bound, and how many reports in a row must keep it.
struct UntilRule {
  std::string name{};
  Comparison comparison = Comparison::AtLeast;
  double bound = 0;
  int patience = 1;

  bool operator==(const UntilRule&) const = default;
};

/// Reads `NAME >= NUMBER`, with `>=`, `<=`, `>` or `<`, a number that may be a percentage, and
/// `for N` for N reports in a row. The error says what was found and what was expected.
[[nodiscard]] Result<UntilRule> parse_until(std::string_view text);

/// What the writer of a text that is no rule probably meant; empty if that cannot be guessed.
[[nodiscard]] std::string nearest_until(std::string_view text);

/// As it would be written on the command line.
[[nodiscard]] std::string to_string(const UntilRule& rule);

/// Whether one value keeps the bound; NaN never does.
[[nodiscard]] bool holds(const UntilRule& rule, double value);

/// The report with which a rule came true.
struct UntilReached {
  double value = 0;
  std::int64_t step = 0;
};

/// Watches the metrics of a job for the moment that its rule comes true.
class UntilWatch {
 public:
  explicit UntilWatch(UntilRule rule) : rule_(std::move(rule)) {}

  /// The moment, once. Every value of the metric is one report.
  [[nodiscard]] std::optional<UntilReached> take(const Metric& metric);

  [[nodiscard]] const UntilRule& rule() const { return rule_; }
  /// A sentence once enough other metrics came without the one that is waited for: its name may be
  /// misspelled. Empty otherwise.
  [[nodiscard]] std::string take_warning();

 private:
  UntilRule rule_;
  bool is_reached_ = false;
  bool is_seen_ = false;
  bool is_warned_ = false;
  int run_ = 0;  // Reports in a row that keep the bound.
  std::map<std::string, std::uint64_t> others_{};
};

/// Why the job ended, for people: `ended by --until accuracy >= 0.9 (0.912 at step 340 of at most
/// 2000)`. No number of steps: that part is left out.
[[nodiscard]] std::string until_note(const UntilRule& rule, const UntilReached& reached,
                                     double steps_max);

}  // namespace rubato::launch::metrics
