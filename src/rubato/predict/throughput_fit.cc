#include "rubato/predict/throughput_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "rubato/base/check.h"

namespace rubato {
namespace {

// What is searched: the logarithms of the six constants, and gamma.
constexpr std::size_t kPass = 0;
constexpr std::size_t kPerSample = 1;
constexpr std::size_t kNode = 2;
constexpr std::size_t kNodeWorker = 3;
constexpr std::size_t kWide = 4;
constexpr std::size_t kWideWorker = 5;
constexpr std::size_t kGamma = 6;
constexpr std::size_t kCount = 7;
using Point = std::array<double, kCount>;

constexpr double kLeast = 1e-8;  // Of each constant, in seconds.
constexpr double kGammaMax = 10;
constexpr double kGammaPull = 1e-3;
constexpr double kPerWorkerPull = 1e-2;
constexpr double kWiderIsDearer = 1.1;
constexpr double kSmooth = 1e-14;  // Keeps the slope of a root finite where errors vanish.
constexpr int kIterationsMax = 200;
constexpr int kHalvingsMax = 30;
constexpr double kEnough = 1e-7;  // Relative improvement below which the search ends.

/// One observation with all that does not change while searching.
struct Sample {
  double local_batch = 0;
  int beyond_two = 0;
  bool exchanges = false;
  bool is_wide = false;
  double log_pass = 0;
  double log_step = 0;
};

/// Loss and slope at a point.
struct Value {
  double loss = 0;
  Point slope{};
};

/// The error of one kind of time over all samples, and its slope, while it is added up.
struct SquaredError {
  double sum = 0;
  Point slope{};

  void add(double error, const Point& derivative) {
    sum += error * error;
    for (std::size_t i = 0; i < kCount; ++i) {
      slope[i] += error * derivative[i];
    }
  }
  // Adds the root of the mean to the loss.
  void add_to(Value& value, double count) const {
    const double root = std::sqrt(sum / count + kSmooth);
    value.loss += root;
    for (std::size_t i = 0; i < kCount; ++i) {
      value.slope[i] += slope[i] / (count * root);
    }
  }
};

/// The loss to be minimised. Frozen coordinates keep their value.
struct Problem {
  std::vector<Sample> samples{};
  std::array<bool, kCount> frozen{};
  Point start{};

  [[nodiscard]] Value at(const Point& point) const;
};

// The pull towards exchange that does not grow with workers, for one pair of constants.
void pull(std::size_t constant, std::size_t per_worker, const Point& point, Value& value) {
  const double ratio = std::exp(point[per_worker] - point[constant]);
  const double loss = kPerWorkerPull * ratio * ratio;
  value.loss += loss;
  value.slope[per_worker] += 2 * loss;
  value.slope[constant] -= 2 * loss;
}

Value Problem::at(const Point& point) const {
  const double gamma = point[kGamma];
  Point theta{};
  for (std::size_t i = 0; i < kGamma; ++i) {
    theta[i] = std::exp(point[i]);
  }
  SquaredError passes;
  SquaredError steps;
  for (const Sample& sample : samples) {
    const double linear = theta[kPerSample] * sample.local_batch;
    const double pass = theta[kPass] + linear;
    const double log_pass = std::log(pass);
    Point derivative{};
    derivative[kPass] = theta[kPass] / pass;
    derivative[kPerSample] = linear / pass;
    passes.add(log_pass - sample.log_pass, derivative);
    double log_step = log_pass;
    if (sample.exchanges) {
      const std::size_t constant = sample.is_wide ? kWide : kNode;
      const std::size_t per_worker = sample.is_wide ? kWideWorker : kNodeWorker;
      const double growing = theta[per_worker] * sample.beyond_two;
      const double exchange = theta[constant] + growing;
      const double log_exchange = std::log(exchange);
      // log (p^g + e^g) / g, and the part of the exchange in it.
      const double larger = std::max(log_pass, log_exchange);
      const double sum =
          std::exp(gamma * (log_pass - larger)) + std::exp(gamma * (log_exchange - larger));
      log_step = larger + std::log(sum) / gamma;
      const double part = std::exp(gamma * (log_exchange - larger)) / sum;
      derivative[kPass] *= 1 - part;
      derivative[kPerSample] *= 1 - part;
      derivative[constant] = part * theta[constant] / exchange;
      derivative[per_worker] = part * growing / exchange;
      derivative[kGamma] = ((1 - part) * log_pass + part * log_exchange - log_step) / gamma;
    }
    steps.add(log_step - sample.log_step, derivative);
  }
  Value value;
  const auto count = static_cast<double>(samples.size());
  passes.add_to(value, count);
  steps.add_to(value, count);
  value.loss += kGammaPull * (gamma - 1) * (gamma - 1);
  value.slope[kGamma] += 2 * kGammaPull * (gamma - 1);
  pull(kNode, kNodeWorker, point, value);
  pull(kWide, kWideWorker, point, value);
  for (std::size_t i = 0; i < kCount; ++i) {
    value.slope[i] = frozen[i] ? 0 : value.slope[i];
  }
  return value;
}

Point bounded(Point point) {
  for (std::size_t i = 0; i < kGamma; ++i) {
    point[i] = std::clamp(point[i], std::log(kLeast), 50.0);
  }
  point[kGamma] = std::clamp(point[kGamma], 1.0, kGammaMax);
  return point;
}

// True if the coordinate stands at a bound and the slope pushes it further out.
bool is_held(const Point& point, const Point& slope, std::size_t i) {
  const double low = i == kGamma ? 1.0 : std::log(kLeast);
  const double high = i == kGamma ? kGammaMax : std::numeric_limits<double>::infinity();
  return (point[i] <= low && slope[i] > 0) || (point[i] >= high && slope[i] < 0);
}

using Matrix = std::array<Point, kCount>;

Matrix identity() {
  Matrix matrix{};
  for (std::size_t i = 0; i < kCount; ++i) {
    matrix[i][i] = 1;
  }
  return matrix;
}

double dot(const Point& left, const Point& right) {
  double sum = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    sum += left[i] * right[i];
  }
  return sum;
}

Point times(const Matrix& matrix, const Point& point) {
  Point result{};
  for (std::size_t i = 0; i < kCount; ++i) {
    result[i] = dot(matrix[i], point);
  }
  return result;
}

// The update of Broyden, Fletcher, Goldfarb and Shanno to the inverse of the second derivative.
void learn(Matrix& inverse, const Point& moved, const Point& change) {
  const double product = dot(moved, change);
  if (product <= 1e-12) {
    return;
  }
  const Point bent = times(inverse, change);
  const double factor = (1 + dot(change, bent) / product) / product;
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t j = 0; j < kCount; ++j) {
      inverse[i][j] +=
          factor * moved[i] * moved[j] - (bent[i] * moved[j] + moved[i] * bent[j]) / product;
    }
  }
}

// Downhill from here: the quasi-Newton direction without the coordinates that are held.
Point direction(const Matrix& inverse, const Point& point, const Value& value) {
  Point slope = value.slope;
  for (std::size_t i = 0; i < kCount; ++i) {
    slope[i] = is_held(point, value.slope, i) ? 0 : slope[i];
  }
  Point down = times(inverse, slope);
  for (std::size_t i = 0; i < kCount; ++i) {
    down[i] = is_held(point, value.slope, i) ? 0 : -down[i];
  }
  if (dot(down, slope) >= 0) {
    for (std::size_t i = 0; i < kCount; ++i) {
      down[i] = -slope[i];
    }
  }
  return down;
}

Point minimise(const Problem& problem) {
  Point point = problem.start;
  Value here = problem.at(point);
  Matrix inverse = identity();
  bool is_fresh = true;
  for (int iteration = 0; iteration < kIterationsMax; ++iteration) {
    const Point down = direction(inverse, point, here);
    double length = 1;
    Point next{};
    Value there;
    bool improves = false;
    for (int halving = 0; halving < kHalvingsMax && !improves; ++halving, length /= 2) {
      for (std::size_t i = 0; i < kCount; ++i) {
        next[i] = point[i] + length * std::clamp(down[i], -3.0, 3.0);
      }
      next = bounded(next);
      there = problem.at(next);
      improves = there.loss < here.loss;
    }
    const bool is_enough = !improves || here.loss - there.loss < kEnough * here.loss;
    if (is_enough && is_fresh) {
      return improves ? next : point;
    }
    if (!improves) {
      inverse = identity();  // What was learnt misleads near a kink of the loss.
      is_fresh = true;
      continue;
    }
    Point moved{};
    Point change{};
    for (std::size_t i = 0; i < kCount; ++i) {
      moved[i] = next[i] - point[i];
      change[i] = there.slope[i] - here.slope[i];
    }
    if (is_enough) {
      inverse = identity();
    } else {
      learn(inverse, moved, change);
    }
    is_fresh = is_enough;
    point = next;
    here = there;
  }
  return point;
}

void freeze(Problem& problem, std::size_t i, double value) {
  problem.frozen[i] = true;
  problem.start[i] = std::log(std::max(value, kLeast));
}

// What was never observed cannot be fitted.
void freeze_unseen(std::span<const StepObservation> observations, Problem& problem) {
  const auto seen = [&](auto condition) { return std::ranges::any_of(observations, condition); };
  std::set<int> local_batches;
  double pass_seconds = 0;
  for (const StepObservation& each : observations) {
    local_batches.insert(each.local_batch);
    pass_seconds += each.pass_seconds / static_cast<double>(observations.size());
  }
  if (local_batches.size() == 1) {
    freeze(problem, kPass, pass_seconds / 2);
  }
  if (!seen([](const StepObservation& each) { return each.nodes > 1; })) {
    freeze(problem, kWide, kLeast);
    freeze(problem, kWideWorker, kLeast);
  }
  if (!seen([](const StepObservation& each) { return each.nodes == 1 && each.workers > 1; })) {
    freeze(problem, kNode, kLeast);
    freeze(problem, kNodeWorker, kLeast);
  }
  if (!seen([](const StepObservation& each) { return each.workers > 2; })) {
    freeze(problem, kWideWorker, kLeast);
    freeze(problem, kNodeWorker, kLeast);
  }
}

}  // namespace

ThroughputModel fit_throughput(std::span<const StepObservation> observations) {
  RUBATO_CHECK(!observations.empty());
  constexpr double kConstantStart = 0.1;
  constexpr double kFactorStart = 0.01;
  Problem problem;
  for (const StepObservation& each : observations) {
    problem.samples.push_back({.local_batch = static_cast<double>(each.local_batch),
                               .beyond_two = std::max(each.workers - 2, 0),
                               .exchanges = each.workers > 1,
                               .is_wide = each.nodes > 1,
                               .log_pass = std::log(std::max(each.pass_seconds, kLeast)),
                               .log_step = std::log(std::max(each.step_seconds, kLeast))});
  }
  for (std::size_t i = 0; i < kGamma; ++i) {
    problem.start[i] = std::log(i % 2 == 0 ? kConstantStart : kFactorStart);
  }
  problem.start[kGamma] = 1 + 1e-3;
  freeze_unseen(observations, problem);
  const Point found = minimise(problem);
  ThroughputModel model{.pass_constant = std::exp(found[kPass]),
                        .pass_per_sample = std::exp(found[kPerSample]),
                        .node_constant = std::exp(found[kNode]),
                        .node_per_worker = std::exp(found[kNodeWorker]),
                        .wide_constant = std::exp(found[kWide]),
                        .wide_per_worker = std::exp(found[kWideWorker]),
                        .gamma = found[kGamma]};
  if (std::ranges::none_of(observations,
                           [](const StepObservation& each) { return each.nodes > 1; })) {
    model.wide_constant = std::max(model.wide_constant, kWiderIsDearer * model.node_constant);
    model.wide_per_worker = std::max(model.wide_per_worker, kWiderIsDearer * model.node_per_worker);
  }
  return model;
}

}  // namespace rubato
