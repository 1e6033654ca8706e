// Seeded randomness with our own distributions, so that a seed means the same bytes everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace rubato {

/// xoshiro256++ (Blackman and Vigna) seeded by splitmix64; cheap to copy and to fork.
class Random {
 public:
  /// All that it knows.
  using Words = std::array<std::uint64_t, 5>;

  explicit Random(std::uint64_t seed);
  /// Goes on exactly where words() was called.
  explicit Random(const Words& words);
  [[nodiscard]] Words words() const;

  /// An independent stream for one purpose, so that drawing more here moves nothing there.
  [[nodiscard]] Random fork(std::uint64_t stream) const;

  std::uint64_t next();
  /// In [0, 1).
  double uniform();
  double uniform(double low, double high);
  /// In [low, high], both included.
  std::int64_t integer(std::int64_t low, std::int64_t high);
  bool chance(double probability);
  /// Mean `mean`, as between Poisson arrivals.
  double exponential(double mean);
  double normal(double mean, double deviation);
  /// exp(normal(mu, sigma)).
  double lognormal(double mu, double sigma);
  /// An index drawn in proportion to the weights; they need not add up to one.
  std::size_t weighted(std::span<const double> weights);

 private:
  std::array<std::uint64_t, 4> state_{};
  std::uint64_t seed_ = 0;
};

}  // namespace rubato
