// Numbers that a training program prints: `epoch 3: train loss 0.53, val acc=0.91, lr 1e-3`,
// `[100/938] loss=0.3`, a progress bar's `loss=0.312]`, a JSON object on a line of its own.
//
// Rather too few than wrong ones: a number counts if a name stands in front of it, with `=`, `:`
// or, for words such as loss and accuracy, a space between, and if it ends where a number should.
// Whole numbers count for such words only, and counters, sizes, times and settings never do. A
// percentage is told as a fraction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::launch::metrics {

inline constexpr std::size_t kPrintedLineMax = 4096;  // Bytes; longer ones are not looked into.
inline constexpr std::size_t kPrintedPairsMax = 32;   // Of one line.

/// A name, as metric.h wants it, and a value.
struct PrintedNumber {
  std::string name{};
  double value = 0;

  bool operator==(const PrintedNumber&) const = default;
};

/// In the order of the line; of a name that stands there twice only the first. Any bytes may come.
[[nodiscard]] std::vector<PrintedNumber> printed_metrics(std::string_view line);

}  // namespace rubato::launch::metrics
