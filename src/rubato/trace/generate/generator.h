// Makes traces: seeded, streaming, with the sizes and run times of public ones.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/random.h"
#include "rubato/base/result.h"
#include "rubato/core/job.h"
#include "rubato/trace/generate/arrivals.h"
#include "rubato/trace/generate/profiles.h"

namespace rubato {

inline constexpr std::uint64_t kGeneratedJobsMax = 1'000'000'000;
inline constexpr int kTenantsMax = 10'000;

struct ModelChoice {
  std::string model{};
  int batch = 0;
};

/// Steps per second; zero if the pair cannot run on that many GPUs.
using SpeedFunction = std::function<double(const ModelChoice& choice, int gpus)>;

struct GeneratorOptions {
  std::uint64_t jobs = 1000;
  std::uint64_t seed = 0;
  int cluster_gpus = 128;
  double load = 0.8;  // GPU time asked for, over what the cluster has; sets the mean gap.
  ArrivalKind arrivals = ArrivalKind::Poisson;
  std::string profile = "elasticflow";
  double best_effort = 0;      // Share of jobs without a deadline.
  double soft = 0;             // Share of jobs with a soft one.
  double tightness_min = 0.5;  // Deadline = arrival + lambda * duration, lambda even between these.
  double tightness_max = 1.5;
  int tenants = 1;                    // The k-th is 1/k as busy as the first.
  std::vector<ModelChoice> models{};  // Empty: the 14 pairs of ElasticFlow's evaluation.
  SpeedFunction speed{};              // Without one, jobs have a duration and no work.
};

/// The same options give the same jobs, bytes included. Each property of a job has a random stream
/// of its own, so that changing, say, the share of best-effort jobs moves nothing else.
class Generator {
 public:
  /// The error names the option that is wrong.
  static Result<Generator> make(GeneratorOptions options);

  /// Jobs in order of arrival, in whole seconds; nothing after the last.
  std::optional<Job> next();

  /// Seconds between arrivals that give the load.
  [[nodiscard]] double mean_gap() const { return mean_gap_; }

 private:
  explicit Generator(GeneratorOptions options);

  // Indices of the models that can run on so many GPUs.
  const std::vector<std::size_t>& models_on(int gpus);
  void draw_model(Job& job);
  void draw_promise(Job& job);

  GeneratorOptions options_;
  std::vector<SizeShare> sizes_;
  std::vector<double> size_shares_;
  std::vector<double> tenant_shares_;
  std::map<int, std::vector<std::size_t>> models_on_;
  double mean_gap_ = 0;
  std::optional<Arrivals> arrivals_;
  Random size_random_;
  Random duration_random_;
  Random model_random_;
  Random class_random_;
  Random tightness_random_;
  Random tenant_random_;
  std::uint64_t made_ = 0;
};

}  // namespace rubato
