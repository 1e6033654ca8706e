#include "rubato/runtime/data/sample_order.h"

#include <cmath>

#include "rubato/base/check.h"
#include "rubato/base/random.h"

namespace rubato {
namespace {

// Digits of few values mix slowly: below this size more rounds are made.
constexpr std::uint64_t kSmall = 1024;

// Spreads a digit and a key over the upper 32 bits (two thirds of splitmix64's finaliser).
std::uint64_t spread(std::uint64_t digit, std::uint64_t key) {
  std::uint64_t bits = key + digit * 0x9e3779b97f4a7c15ULL;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  return (bits ^ (bits >> 27U)) * 0x94d049bb133111ebULL;
}

// A number below the span, which is at most 2^32, from 64 mixed bits; the upper ones decide.
std::uint64_t below(std::uint64_t span, std::uint64_t bits) {
  return ((bits >> 32U) * span) >> 32U;
}

// The sum modulo the span of two numbers below it.
std::uint64_t turned(std::uint64_t digit, std::uint64_t by, std::uint64_t span) {
  const std::uint64_t sum = digit + by;
  return sum < span ? sum : sum - span;
}

// The smallest number whose square is not below the size.
std::uint64_t root_above(std::uint64_t size) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(size)));
  while (root > 1 && (root - 1) * (root - 1) >= size) {
    --root;
  }
  while (root * root < size) {
    ++root;
  }
  return root;
}

}  // namespace

std::uint64_t EpochOrder::sent_through(std::uint64_t number) const {
  std::uint64_t high = number / low_span_;
  std::uint64_t low = number % low_span_;
  for (std::size_t round = 0; round < rounds_; round += 2) {
    high = turned(high, below(high_span_, spread(low, keys_[round])), high_span_);
    low = turned(low, below(low_span_, spread(high, keys_[round + 1])), low_span_);
  }
  return high * low_span_ + low;
}

std::uint64_t EpochOrder::at(std::uint64_t position) const {
  RUBATO_CHECK(position < size_);
  if (!is_shuffled_) {
    return position;
  }
  // The network is a bijection of the larger range, so every path from inside comes back inside,
  // and no two of them to the same place.
  std::uint64_t sample = sent_through(position);
  while (sample >= size_) {
    sample = sent_through(sample);
  }
  return sample;
}

EpochOrder SampleOrder::epoch(std::uint64_t epoch) const {
  constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 62U;  // Digits then fit in 32 bits.
  RUBATO_CHECK(dataset_size >= 1 && dataset_size <= kSizeMax);
  EpochOrder order;
  order.size_ = dataset_size;
  order.is_shuffled_ = is_shuffled;
  order.rounds_ = dataset_size < kSmall ? EpochOrder::kRoundsMax : EpochOrder::kRoundsMin;
  // Even, because turns of odd spans alone make even permutations alone.
  order.high_span_ = (root_above(dataset_size) + 1) / 2 * 2;
  order.low_span_ = (dataset_size + order.high_span_ - 1) / order.high_span_;
  Random keys = Random(seed).fork(epoch);
  for (std::uint64_t& key : order.keys_) {
    key = keys.next();
  }
  return order;
}

std::uint64_t SampleOrder::at(std::uint64_t of_epoch, std::uint64_t position) const {
  return epoch(of_epoch).at(position);
}

}  // namespace rubato
