#include "rubato/solve/linear_program.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

struct Knapsack {
  std::vector<double> worth{};
  std::vector<std::vector<double>> weights{};  // Per row.
  std::vector<double> rooms{};
};

Knapsack random_knapsack(Random& random, int items, int rows) {
  Knapsack knapsack;
  for (int i = 0; i < items; ++i) {
    knapsack.worth.push_back(static_cast<double>(random.integer(1, 30)));
  }
  for (int row = 0; row < rows; ++row) {
    std::vector<double> weights;
    double total = 0;
    for (int i = 0; i < items; ++i) {
      weights.push_back(static_cast<double>(random.integer(0, 20)));
      total += weights.back();
    }
    knapsack.weights.push_back(weights);
    knapsack.rooms.push_back(std::floor(total * random.uniform(0.2, 0.8)));
  }
  return knapsack;
}

LinearProgram program_of(const Knapsack& knapsack) {
  LinearProgram program(Goal::Maximise);
  for (const double worth : knapsack.worth) {
    program.add({.upper = 1, .worth = worth, .is_integer = true});
  }
  for (std::size_t row = 0; row < knapsack.rooms.size(); ++row) {
    std::vector<Term> terms;
    for (std::size_t i = 0; i < knapsack.worth.size(); ++i) {
      terms.push_back({.variable = i, .factor = knapsack.weights[row][i]});
    }
    program.add_row(terms, Relation::AtMost, knapsack.rooms[row]);
  }
  return program;
}

// Every subset tried.
double best_by_enumeration(const Knapsack& knapsack) {
  double best = 0;
  for (std::uint32_t chosen = 0; chosen < (1U << knapsack.worth.size()); ++chosen) {
    double worth = 0;
    std::vector<double> left = knapsack.rooms;
    for (std::size_t i = 0; i < knapsack.worth.size(); ++i) {
      if ((chosen >> i & 1U) != 0) {
        worth += knapsack.worth[i];
        for (std::size_t row = 0; row < left.size(); ++row) {
          left[row] -= knapsack.weights[row][i];
        }
      }
    }
    if (std::ranges::all_of(left, [](double room) { return room >= 0; })) {
      best = std::max(best, worth);
    }
  }
  return best;
}

bool keeps_rows(const LinearProgram& program, const std::vector<double>& values) {
  for (std::size_t row = 0; row < program.rows().size(); ++row) {
    double sum = 0;
    for (const Term& term : program.terms(row)) {
      sum += term.factor * values[term.variable];
    }
    if (sum > program.rows()[row].bound + 1e-6) {
      return false;
    }
  }
  return true;
}

TEST(LinearProgram, SolvesATextbookProgram) {
  LinearProgram program(Goal::Maximise);
  const std::size_t x = program.add({.worth = 3});
  const std::size_t y = program.add({.worth = 5});
  program.add_row(std::vector<Term>{{x, 1}}, Relation::AtMost, 4);
  program.add_row(std::vector<Term>{{y, 2}}, Relation::AtMost, 12);
  program.add_row(std::vector<Term>{{x, 3}, {y, 2}}, Relation::AtMost, 18);

  const Solution solution = solve(program);

  ASSERT_EQ(solution.status, SolveStatus::Optimal);
  EXPECT_NEAR(solution.objective, 36, 1e-9);
  EXPECT_NEAR(solution.values[x], 2, 1e-9);
  EXPECT_NEAR(solution.values[y], 6, 1e-9);
}

TEST(LinearProgram, MinimisesUnderEqualitiesAndLowerBounds) {
  LinearProgram program(Goal::Minimise);
  const std::size_t x = program.add({.lower = -5, .worth = 1});
  const std::size_t y = program.add({.lower = 1, .worth = 2});
  program.add_row(std::vector<Term>{{x, 1}, {y, 1}}, Relation::Equal, 3);
  program.add_row(std::vector<Term>{{x, 1}}, Relation::AtMost, 1);

  const Solution solution = solve(program);

  ASSERT_EQ(solution.status, SolveStatus::Optimal);
  EXPECT_NEAR(solution.objective, 5, 1e-9);
  EXPECT_NEAR(solution.values[x], 1, 1e-9);
}

TEST(LinearProgram, AddsUpTermsOfTheSameVariable) {
  LinearProgram program(Goal::Maximise);
  const std::size_t x = program.add({.worth = 1});
  program.add_row(std::vector<Term>{{x, 1}, {x, 1}}, Relation::AtMost, 6);

  EXPECT_NEAR(solve(program).objective, 3, 1e-9);
}

TEST(LinearProgram, TellsInfeasibleFromUnbounded) {
  for (const bool is_integer : {false, true}) {
    LinearProgram impossible(Goal::Maximise);
    const std::size_t x = impossible.add({.upper = 1, .worth = 1, .is_integer = is_integer});
    impossible.add_row(std::vector<Term>{{x, 1}}, Relation::AtLeast, 2);
    LinearProgram endless(Goal::Maximise);
    const std::size_t y = endless.add({.worth = 1, .is_integer = is_integer});
    endless.add_row(std::vector<Term>{{y, 1}}, Relation::AtLeast, 2);

    EXPECT_EQ(solve(impossible).status, SolveStatus::Infeasible) << is_integer;
    EXPECT_EQ(solve(endless).status, SolveStatus::Unbounded) << is_integer;
  }
}

TEST(LinearProgram, FindsThatNoWholeNumberFitsWhereAFractionDoes) {
  LinearProgram program(Goal::Maximise);
  const std::size_t x = program.add({.upper = 10, .worth = 1, .is_integer = true});
  const std::size_t y = program.add({.upper = 10, .worth = 1, .is_integer = true});
  program.add_row(std::vector<Term>{{x, 2}, {y, 4}}, Relation::Equal, 7);

  EXPECT_EQ(solve(program).status, SolveStatus::Infeasible);
}

TEST(LinearProgram, AnswersWithoutVariables) {
  LinearProgram kept(Goal::Maximise);
  kept.add_row({}, Relation::AtMost, 1);
  LinearProgram broken(Goal::Maximise);
  broken.add_row({}, Relation::AtLeast, 1);

  EXPECT_EQ(solve(kept).status, SolveStatus::Optimal);
  EXPECT_EQ(solve(broken).status, SolveStatus::Infeasible);
}

TEST(LinearProgram, KnapsacksMatchEnumeration) {
  Random random(1);
  for (int trial = 0; trial < 150; ++trial) {
    const Knapsack knapsack =
        random_knapsack(random, static_cast<int>(random.integer(1, 11)), trial % 3 + 1);
    const LinearProgram program = program_of(knapsack);

    const Solution solution = solve(program);

    ASSERT_EQ(solution.status, SolveStatus::Optimal) << "trial " << trial;
    EXPECT_NEAR(solution.objective, best_by_enumeration(knapsack), 1e-6) << "trial " << trial;
    EXPECT_TRUE(keeps_rows(program, solution.values)) << "trial " << trial;
  }
}

// Many rows, so that the root alone does not settle it.
LinearProgram hard_program() {
  Random random(7);
  return program_of(random_knapsack(random, 60, 12));
}

TEST(LinearProgram, ReturnsTheBestFoundWhenTheLimitStrikes) {
  const LinearProgram program = hard_program();

  const Solution limited = solve(program, {.nodes_max = 5});
  const Solution more = solve(program, {.nodes_max = 500});

  ASSERT_EQ(limited.status, SolveStatus::Feasible);
  EXPECT_TRUE(keeps_rows(program, limited.values));
  for (const double value : limited.values) {
    EXPECT_TRUE(value == 0 || value == 1) << value;
  }
  EXPECT_GE(more.objective, limited.objective);
}

TEST(LinearProgram, FindsNothingBetterThanTheBest) {
  Random random(3);
  for (int trial = 0; trial < 20; ++trial) {
    const LinearProgram program = program_of(random_knapsack(random, 9, 2));
    const double best = solve(program).objective;

    EXPECT_FALSE(solve(program, {.cutoff = best + 0.5}).has_values()) << "trial " << trial;
    EXPECT_NEAR(solve(program, {.cutoff = best - 0.5}).objective, best, 1e-6);
  }
}

TEST(LinearProgram, TakesARelaxationThatIsWholeOnlyIfItIsBetter) {
  LinearProgram program(Goal::Minimise);
  const std::size_t x = program.add({.worth = 1, .is_integer = true});
  const std::size_t y = program.add({.worth = 2});
  program.add_row(std::vector<Term>{{x, 1}, {y, 1}}, Relation::AtLeast, 3);

  const Solution solution = solve(program, {.cutoff = 3.5});

  EXPECT_EQ(solution.status, SolveStatus::Optimal);
  EXPECT_EQ(solution.values, (std::vector<double>{3, 0}));
  EXPECT_FALSE(solve(program, {.cutoff = 3.0}).has_values());
  EXPECT_FALSE(solve(program, {.cutoff = 2.5}).has_values());
}

TEST(LinearProgram, FailsWhenIterationsRunOutBeforeAnyAnswer) {
  EXPECT_EQ(solve(hard_program(), {.iterations_max = 1}).status, SolveStatus::Failed);
}

TEST(LinearProgram, SameLimitsSameValuesAlsoOnTwoThreads) {
  const LinearProgram program = hard_program();
  const Solution expected = solve(program, {.nodes_max = 20});
  std::vector<Solution> answers(6);

  const auto work = [&](std::size_t first) {
    Random random(first);
    for (std::size_t i = first; i < answers.size(); i += 2) {
      // Something else in between, so that a leftover of one solution would show in the next.
      EXPECT_TRUE(solve(program_of(random_knapsack(random, 9, 2))).has_values());
      answers[i] = solve(program, {.nodes_max = 20});
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();

  ASSERT_TRUE(expected.has_values());
  for (const Solution& answer : answers) {
    EXPECT_EQ(answer.values, expected.values);
    EXPECT_EQ(answer.status, expected.status);
  }
}

TEST(LinearProgram, AWallClockLimitEndsAWholeProgram) {
  const Solution solution = solve(
      hard_program(),
      {.nodes_max = 1'000'000'000, .iterations_max = 2'000'000'000, .wall_seconds_max = 0.05});

  EXPECT_NE(solution.status, SolveStatus::Infeasible);
}

}  // namespace
}  // namespace rubato
