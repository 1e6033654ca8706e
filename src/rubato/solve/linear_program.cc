#include "rubato/solve/linear_program.h"

#include <algorithm>
#include <cmath>

#include <coin/CbcHeuristic.hpp>
#include <coin/CbcHeuristicDiveCoefficient.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CglKnapsackCover.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>
#include <coin/CglProbing.hpp>
#include <coin/ClpFactorization.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinError.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include "rubato/base/check.h"

namespace rubato {
namespace {

// How far a value may be from a whole number and still count as one.
constexpr double kWholeTolerance = 1e-6;

// Most cuts pay at the root, in a few passes, and seldom below it.
constexpr int kCutsAtRootOnly = -99;
constexpr int kCutsWherePaying = -1;
constexpr int kCutPassesMax = 5;

// Variables whose branches are tried out before one is chosen.
constexpr int kTriedBranches = 5;

// The program in the form CLP and CBC read.
struct Columns {
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> worth;
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  CoinPackedMatrix matrix;
};

CoinPackedMatrix matrix_of(const LinearProgram& program) {
  std::vector<int> rows;
  std::vector<int> columns;
  std::vector<double> factors;
  for (std::size_t row = 0; row < program.rows().size(); ++row) {
    for (const Term& term : program.terms(row)) {
      rows.push_back(static_cast<int>(row));
      columns.push_back(static_cast<int>(term.variable));
      factors.push_back(term.factor);
    }
  }
  CoinPackedMatrix matrix(/*colordered=*/true, rows.data(), columns.data(), factors.data(),
                          static_cast<CoinBigIndex>(factors.size()));
  matrix.setDimensions(static_cast<int>(program.rows().size()),
                       static_cast<int>(program.variables().size()));
  return matrix;
}

Columns columns_of(const LinearProgram& program) {
  Columns columns;
  const double sign = program.goal() == Goal::Maximise ? -1 : 1;
  for (const Variable& variable : program.variables()) {
    RUBATO_CHECK(!std::isnan(variable.lower) && !std::isnan(variable.upper) &&
                 std::isfinite(variable.worth));
    columns.lower.push_back(std::max(variable.lower, -COIN_DBL_MAX));
    columns.upper.push_back(std::min(variable.upper, COIN_DBL_MAX));
    columns.worth.push_back(sign * variable.worth);
  }
  for (const LinearProgram::Row& row : program.rows()) {
    columns.row_lower.push_back(row.relation == Relation::AtMost ? -COIN_DBL_MAX : row.bound);
    columns.row_upper.push_back(row.relation == Relation::AtLeast ? COIN_DBL_MAX : row.bound);
  }
  columns.matrix = matrix_of(program);
  return columns;
}

// A solver loaded with the program's linear relaxation, silent.
void load(ClpSimplex& simplex, const LinearProgram& program) {
  const Columns columns = columns_of(program);
  simplex.setLogLevel(0);
  simplex.loadProblem(columns.matrix, columns.lower.data(), columns.upper.data(),
                      columns.worth.data(), columns.row_lower.data(), columns.row_upper.data());
  // Dense parts would be factored by BLAS, whose sums differ from machine to machine.
  simplex.factorization()->setDenseThreshold(0);
}

enum class Whole { Rounded, Relaxed };

// The values and what they are worth.
Solution with_values(const LinearProgram& program, SolveStatus status, const double* values,
                     Whole whole) {
  Solution solution{.status = status};
  for (std::size_t i = 0; i < program.variables().size(); ++i) {
    const Variable& variable = program.variables()[i];
    const bool is_rounded = variable.is_integer && whole == Whole::Rounded;
    const double value = is_rounded ? std::round(values[i]) : values[i];
    solution.values.push_back(std::clamp(value, variable.lower, variable.upper));
    solution.objective += variable.worth * solution.values.back();
  }
  return solution;
}

// A program without variables keeps its rows or does not; solvers dislike being asked.
Solution solve_empty(const LinearProgram& program) {
  const bool is_kept = std::ranges::all_of(program.rows(), [](const LinearProgram::Row& row) {
    return row.relation == Relation::AtMost    ? row.bound >= 0
           : row.relation == Relation::AtLeast ? row.bound <= 0
                                               : row.bound == 0;
  });
  return Solution{.status = is_kept ? SolveStatus::Optimal : SolveStatus::Infeasible};
}

// Whether the rows hold where the simplex method starts: each variable at its bound nearest to 0.
bool starts_feasible(const LinearProgram& program) {
  for (std::size_t row = 0; row < program.rows().size(); ++row) {
    double sum = 0;
    for (const Term& term : program.terms(row)) {
      const Variable& variable = program.variables()[term.variable];
      sum += term.factor * (variable.lower > 0 ? variable.lower : std::min(variable.upper, 0.0));
    }
    const auto [first, relation, bound] = program.rows()[row];
    if ((relation != Relation::AtMost && sum < bound) ||
        (relation != Relation::AtLeast && sum > bound)) {
      return false;
    }
  }
  return true;
}

Solution solve_linear(const LinearProgram& program, const SolveLimits& limits) {
  ClpSimplex simplex;
  load(simplex, program);
  simplex.setMaximumIterations(limits.iterations_max);
  if (limits.wall_seconds_max > 0) {
    simplex.setMaximumWallSeconds(limits.wall_seconds_max);
  }
  if (starts_feasible(program)) {
    simplex.primal();
  } else {
    simplex.dual();
  }
  if (simplex.status() == 0) {
    return with_values(program, SolveStatus::Optimal, simplex.primalColumnSolution(),
                       Whole::Relaxed);
  }
  if (simplex.status() == 1) {
    return Solution{.status = SolveStatus::Infeasible};
  }
  // Dual infeasible: unbounded if any values keep the rows at all, which a zero objective tells.
  if (simplex.status() == 2) {
    const std::vector<double> nothing(program.variables().size(), 0.0);
    std::ranges::copy(nothing, simplex.objective());
    simplex.primal();
    return Solution{.status = simplex.status() == 0   ? SolveStatus::Unbounded
                              : simplex.status() == 1 ? SolveStatus::Infeasible
                                                      : SolveStatus::Failed};
  }
  return Solution{.status = SolveStatus::Failed};
}

// Limits of work, and the cuts and the heuristic that pay on packing problems.
void configure(CbcModel& model, Goal goal, const SolveLimits& limits) {
  model.setLogLevel(0);
  model.solver()->setHintParam(OsiDoReducePrint, true, OsiHintTry);
  model.setMaximumNodes(limits.nodes_max);
  model.setMaximumNumberIterations(limits.iterations_max);
  model.setAllowableFractionGap(limits.gap);
  model.setIntegerTolerance(kWholeTolerance);
  if (limits.cutoff) {
    model.setCutoff(goal == Goal::Maximise ? -*limits.cutoff : *limits.cutoff);
  }
  if (limits.wall_seconds_max > 0) {
    model.setUseElapsedTime(true);
    model.setMaximumSeconds(limits.wall_seconds_max);
  }
  model.setMaximumCutPassesAtRoot(kCutPassesMax);
  model.setNumberStrong(kTriedBranches);
  CglKnapsackCover covers;
  CglMixedIntegerRounding2 rounding;
  model.addCutGenerator(&covers, kCutsAtRootOnly, "covers");
  model.addCutGenerator(&rounding, kCutsAtRootOnly, "rounding");
  CglProbing probing;
  probing.setUsingObjective(1);
  probing.setMaxPass(1);
  probing.setMaxProbe(10);
  probing.setMaxLook(10);
  probing.setMaxElements(200);
  probing.setRowCuts(3);
  model.addCutGenerator(&probing, kCutsWherePaying, "probing");
  CbcRounding round(model);
  model.addHeuristic(&round);
  CbcHeuristicDiveCoefficient dive(model);
  model.addHeuristic(&dive);
}

// By how much an objective beats the one that values must beat.
double lead_of(const Solution& solution, Goal goal, const SolveLimits& limits) {
  if (!limits.cutoff) {
    return std::numeric_limits<double>::infinity();
  }
  return goal == Goal::Maximise ? solution.objective - *limits.cutoff
                                : *limits.cutoff - solution.objective;
}

// Whether values of the relaxation are whole where they have to be.
bool is_integer(const LinearProgram& program, const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (program.variables()[i].is_integer &&
        std::abs(values[i] - std::round(values[i])) > kWholeTolerance) {
      return false;
    }
  }
  return true;
}

Solution solve_whole(const LinearProgram& program, const SolveLimits& limits) {
  constexpr double kRounding = 1e-7;  // Rounding decides neither way; branch and bound does.
  // The relaxation tells apart what branch and bound calls infeasible.
  Solution relaxed = solve_linear(program, limits);
  if (relaxed.status != SolveStatus::Optimal) {
    return relaxed;
  }
  const double lead = lead_of(relaxed, program.goal(), limits);
  if (lead < -kRounding) {
    return Solution{.status = SolveStatus::Infeasible};
  }
  if (lead > kRounding && is_integer(program, relaxed.values)) {
    return with_values(program, SolveStatus::Optimal, relaxed.values.data(), Whole::Rounded);
  }
  ClpSimplex simplex;
  load(simplex, program);
  OsiClpSolverInterface solver(&simplex);
  for (std::size_t i = 0; i < program.variables().size(); ++i) {
    if (program.variables()[i].is_integer) {
      solver.setInteger(static_cast<int>(i));
    }
  }
  CbcModel model(solver);
  configure(model, program.goal(), limits);
  model.initialSolve();
  model.branchAndBound();
  const double* values = model.bestSolution();
  if (values == nullptr) {
    return Solution{.status =
                        model.isProvenInfeasible() ? SolveStatus::Infeasible : SolveStatus::Failed};
  }
  const bool is_proven = model.isProvenOptimal();
  return with_values(program, is_proven ? SolveStatus::Optimal : SolveStatus::Feasible, values,
                     Whole::Rounded);
}

}  // namespace

void LinearProgram::add_row(std::span<const Term> terms, Relation relation, double bound) {
  RUBATO_CHECK(std::isfinite(bound));
  rows_.push_back(Row{.first_term = terms_.size(), .relation = relation, .bound = bound});
  for (const Term& term : terms) {
    RUBATO_CHECK(term.variable < variables_.size() && std::isfinite(term.factor));
    terms_.push_back(term);
  }
}

std::span<const Term> LinearProgram::terms(std::size_t row) const {
  const std::size_t first = rows_[row].first_term;
  const std::size_t end = row + 1 < rows_.size() ? rows_[row + 1].first_term : terms_.size();
  return std::span(terms_).subspan(first, end - first);
}

bool LinearProgram::has_whole_variables() const {
  return std::ranges::any_of(variables_, &Variable::is_integer);
}

Solution solve(const LinearProgram& program, const SolveLimits& limits) {
  if (program.variables().empty()) {
    return solve_empty(program);
  }
  try {
    return program.has_whole_variables() ? solve_whole(program, limits)
                                         : solve_linear(program, limits);
  } catch (const CoinError&) {
    return Solution{.status = SolveStatus::Failed};
  } catch (const std::exception&) {
    return Solution{.status = SolveStatus::Failed};
  }
}

}  // namespace rubato
