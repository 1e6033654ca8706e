#include "rubato/base/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "rubato/base/check.h"

namespace rubato {
namespace {

// One step of splitmix64: spreads the bits of a seed.
std::uint64_t splitmix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31U);
}

}  // namespace

Random::Random(std::uint64_t seed) : seed_(seed) {
  for (std::uint64_t& word : state_) {
    word = splitmix(seed);
  }
}

Random::Random(const Words& words) : seed_(words.back()) {
  std::copy_n(words.begin(), state_.size(), state_.begin());
}

Random::Words Random::words() const {
  Words words{};
  std::ranges::copy(state_, words.begin());
  words.back() = seed_;
  return words;
}

Random Random::fork(std::uint64_t stream) const {
  std::uint64_t mixed = seed_ ^ (stream * 0xd1342543de82ef95ULL);
  return Random(splitmix(mixed));
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  RUBATO_CHECK(low <= high);
  const auto count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  if (count == 0) {
    return static_cast<std::int64_t>(next());
  }
  // Draws beyond the largest multiple of `count` are thrown away: the rest is exactly even.
  const std::uint64_t excess = (0 - count) % count;
  std::uint64_t draw = next();
  while (draw < excess) {
    draw = next();
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + draw % count);
}

bool Random::chance(double probability) { return uniform() < probability; }

double Random::exponential(double mean) { return -mean * std::log1p(-uniform()); }

double Random::normal(double mean, double deviation) {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return mean + deviation * radius * std::cos(2.0 * std::numbers::pi * uniform());
}

double Random::lognormal(double mu, double sigma) { return std::exp(normal(mu, sigma)); }

std::size_t Random::weighted(std::span<const double> weights) {
  RUBATO_CHECK(!weights.empty());
  double total = 0;
  for (const double weight : weights) {
    total += weight;
  }
  double left = uniform() * total;
  std::size_t last = weights.size() - 1;  // With a weight: rounding may carry us past its end.
  for (std::size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) {
      return i;
    }
    last = weights[i] > 0 ? i : last;
  }
  return last;
}

}  // namespace rubato
