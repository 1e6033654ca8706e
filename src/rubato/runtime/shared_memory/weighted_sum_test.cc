#include "rubato/runtime/shared_memory/weighted_sum.h"

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <rapidcheck.h>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

using Rows = std::vector<std::vector<float>>;

/// Rows of random floats, some of them far larger than others.
Rows random_rows(std::size_t rows, std::size_t floats, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Rows result(rows, std::vector<float>(floats));
  for (auto& row : result) {
    const float scale = std::exp(3 * normal(generator));
    for (float& value : row) {
      value = scale * normal(generator);
    }
  }
  return result;
}

/// The sum by the definition of the tree, one float at a time.
float tree_of(const Rows& rows, const std::vector<float>& weights, std::size_t first,
              std::size_t count, std::size_t at) {
  if (count == 1) {
    return rows[first][at] * weights[first];
  }
  std::size_t left = 1;
  while (left * 2 < count) {
    left *= 2;
  }
  const float sum = tree_of(rows, weights, first, left, at);
  return sum + tree_of(rows, weights, first + left, count - left, at);
}

struct SumCase {
  Rows rows{};
  std::vector<float> weights{};
  std::size_t destinations = 1;
  std::size_t begin = 0;
};

struct SumOutcome {
  Rows destinations{};
  std::vector<double> squares{};
};

/// Sums into rows of their own, or into the first sources if `in_place`.
SumOutcome sum_of(SumCase work, SumKind kind, bool has_squares, bool in_place) {
  const std::size_t floats = work.rows[0].size();
  SumOutcome outcome;
  outcome.destinations.assign(work.destinations, std::vector<float>(floats, -1));
  outcome.squares.assign(has_squares ? work.rows.size() + 1 : 0, -1);
  std::vector<const float*> sources;
  for (const auto& row : work.rows) {
    sources.push_back(row.data());
  }
  std::vector<float*> destinations;
  for (std::size_t i = 0; i < work.destinations; ++i) {
    const bool shares = in_place && i < work.rows.size();
    destinations.push_back(shares ? work.rows[i].data() : outcome.destinations[i].data());
  }
  WeightedSum(kind).run({.sources = sources,
                         .weights = work.weights,
                         .destinations = destinations,
                         .squares = outcome.squares},
                        work.begin, floats);
  for (std::size_t i = 0; in_place && i < work.destinations && i < work.rows.size(); ++i) {
    outcome.destinations[i] = work.rows[i];
  }
  return outcome;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b, std::size_t begin) {
  return a.size() == b.size() &&
         std::memcmp(a.data() + begin, b.data() + begin, (a.size() - begin) * sizeof(float)) == 0;
}

SumCase random_case() {
  const auto sources = *rc::gen::inRange<std::size_t>(1, 40);
  const auto floats = *rc::gen::weightedOneOf<std::size_t>(
      {{3, rc::gen::inRange<std::size_t>(1, 40)}, {1, rc::gen::inRange<std::size_t>(1, 9000)}});
  SumCase work{.rows = random_rows(sources, floats, *rc::gen::arbitrary<unsigned>()),
               .destinations = *rc::gen::inRange<std::size_t>(1, 6),
               .begin = *rc::gen::inRange<std::size_t>(0, floats)};
  const Rows weights = random_rows(1, sources, *rc::gen::arbitrary<unsigned>());
  work.weights = weights[0];
  return work;
}

TEST(WeightedSum, IsTheTreeBitForBitWhateverTheInstructionsAndPlaces) {
  EXPECT_TRUE(rc::check([] {
    const SumCase work = random_case();
    std::vector<float> expected(work.rows[0].size());
    for (std::size_t at = 0; at < expected.size(); ++at) {
      expected[at] = tree_of(work.rows, work.weights, 0, work.rows.size(), at);
    }
    const bool in_place = *rc::gen::arbitrary<bool>();
    const bool has_squares = *rc::gen::arbitrary<bool>();

    const SumOutcome portable = sum_of(work, SumKind::Portable, has_squares, in_place);
    const SumOutcome quick = sum_of(work, quickest_sum_kind(), has_squares, in_place);

    for (std::size_t i = 0; i < work.destinations; ++i) {
      RC_ASSERT(same_bits(portable.destinations[i], expected, work.begin));
      RC_ASSERT(same_bits(quick.destinations[i], expected, work.begin));
    }
    RC_ASSERT(portable.squares == quick.squares);
  }));
}

TEST(WeightedSum, TakesTheSquaresOfEachSourceAndOfTheSum) {
  EXPECT_TRUE(rc::check([] {
    SumCase work = random_case();
    const std::size_t sources = work.rows.size();

    const SumOutcome outcome = sum_of(work, quickest_sum_kind(), true, *rc::gen::arbitrary<bool>());

    work.rows.push_back(outcome.destinations[0]);
    for (std::size_t i = 0; i <= sources; ++i) {
      double expected = 0;
      for (std::size_t at = work.begin; at < work.rows[i].size(); ++at) {
        expected += static_cast<double>(work.rows[i][at]) * static_cast<double>(work.rows[i][at]);
      }
      RC_ASSERT(std::abs(outcome.squares[i] - expected) <= 1e-5 * expected);
    }
  }));
}

TEST(WeightedSum, LeavesFloatsBeforeAndBehindAlone) {
  std::vector<float> row(64, 2);
  const float* const source = row.data();
  float* const destination = row.data();
  const float weight = 3;

  WeightedSum().run(
      {.sources = {&source, 1}, .weights = {&weight, 1}, .destinations = {&destination, 1}}, 5, 30);

  for (std::size_t at = 0; at < row.size(); ++at) {
    EXPECT_EQ(row[at], at >= 5 && at < 30 ? 6.0F : 2.0F) << at;
  }
}

TEST(WeightedSum, MeasuresOnlyUpToWhereItIsTold) {
  const std::vector<float> source(1000, 2.0F);
  std::vector<float> sum(1000);
  const float* const from = source.data();
  float* const to = sum.data();
  const float weight = 0.5F;
  std::array<double, 2> squares{};

  WeightedSum{}.run({.sources = {&from, 1},
                     .weights = {&weight, 1},
                     .destinations = {&to, 1},
                     .squares = squares,
                     .measured_end = 300},
                    100, 1000);

  EXPECT_EQ(squares, (std::array<double, 2>{200 * 4.0, 200 * 1.0}));
  EXPECT_EQ(sum.back(), 1.0F);
  EXPECT_EQ(sum[99], 0.0F);
}

}  // namespace
}  // namespace rubato
