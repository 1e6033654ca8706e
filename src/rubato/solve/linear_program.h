// Linear programs with whole-number variables: build one, solve it, read the values.
//
// A thin wrapper over CLP (pure linear programs) and CBC (whole numbers), whose headers stay inside
// the .cc file. Each call builds its own solver, so calls on several threads do not meet.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace rubato {

/// A column of the program.
struct Variable {
  double lower = 0;
  double upper = std::numeric_limits<double>::infinity();
  double worth = 0;  // What one unit adds to the objective.
  bool is_integer = false;
};

struct Term {
  std::size_t variable = 0;  // What add() returned.
  double factor = 0;
};

enum class Relation { AtMost, AtLeast, Equal };
enum class Goal { Maximise, Minimise };

/// Variables and rows in the order they were added. Terms of one row with the same variable add up.
class LinearProgram {
 public:
  struct Row {
    std::size_t first_term = 0;  // Its terms end where those of the next row start.
    Relation relation = Relation::AtMost;
    double bound = 0;
  };

  explicit LinearProgram(Goal goal) : goal_(goal) {}

  std::size_t add(const Variable& variable) {
    variables_.push_back(variable);
    return variables_.size() - 1;
  }
  /// The sum of the terms is at most, at least or equal to the bound.
  void add_row(std::span<const Term> terms, Relation relation, double bound);

  [[nodiscard]] Goal goal() const { return goal_; }
  [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] std::span<const Term> terms(std::size_t row) const;
  [[nodiscard]] bool has_whole_variables() const;

 private:
  Goal goal_;
  std::vector<Variable> variables_;
  std::vector<Row> rows_;
  std::vector<Term> terms_;
};

/// How much work a solution may cost. Nodes and iterations are counted, so the same program under
/// the same limits gives the same answer on every machine, however busy it is.
struct SolveLimits {
  int nodes_max = 2'000;         // Of the branch-and-bound tree.
  int iterations_max = 200'000;  // Of the simplex method, over all nodes.
  double gap = 0;                // Stop when nothing can be better by more than this share.
  // Values that are not better are of no interest; whole-number programs alone heed it.
  std::optional<double> cutoff{};
  double wall_seconds_max = 0;  // 0: none. Unfit for policies, whose decisions must replay.
};

enum class SolveStatus {
  Optimal,     // Nothing is better by more than the gap.
  Feasible,    // A limit was reached; these values keep all rows, others may be better.
  Infeasible,  // No values keep all rows, or none of them is better than asked for.
  Unbounded,   // The objective has no end.
  Failed,      // A limit was reached before any values were found, or the solver gave up.
};

struct Solution {
  SolveStatus status = SolveStatus::Failed;
  double objective = 0;
  std::vector<double> values{};  // One per variable; whole ones exactly whole. Empty if none.

  [[nodiscard]] bool has_values() const { return !values.empty(); }
};

/// Prints nothing and throws nothing. A program that can never be right (a row over a variable that
/// was not added, a bound that is no number) stops the process: it is a bug of the caller.
[[nodiscard]] Solution solve(const LinearProgram& program, const SolveLimits& limits = {});

}  // namespace rubato
