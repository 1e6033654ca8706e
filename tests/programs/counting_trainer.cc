// A training program without libtorch that can tell whether elasticity went wrong. Half of its
// model is a linear regression; the other half counts, through the very reduction that sums
// gradients, how often each sample was used by committed steps. At the end every count must be the
// number of epochs.
//
//   counting_trainer SAMPLES BATCH EPOCHS SHARDS STEP_MICROSECONDS
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "rubato/base/random.h"
#include "rubato/runtime/data/sample_order.h"
#include "rubato/runtime/worker/elastic_worker.h"
#include "rubato/runtime/worker/worker_address.h"

namespace rubato {
namespace {

constexpr std::size_t kWeights = 16;
constexpr float kRate = 0.05F;
constexpr float kMomentum = 0.9F;
constexpr int kExitWrongCounts = 3;

struct Workload {
  std::size_t samples = 0;
  std::uint64_t batch = 0;
  std::uint64_t epochs = 0;
  int shards = 0;
  std::chrono::microseconds step{};

  [[nodiscard]] std::size_t floats() const { return kWeights + samples; }
};

// Features of a sample and its target, from its number alone.
struct Sample {
  std::array<float, kWeights> features{};
  float target = 0;
};

Sample sample(std::uint64_t number) {
  Random random(number + 1);
  Sample drawn;
  for (std::size_t i = 0; i < kWeights; ++i) {
    drawn.features[i] = static_cast<float>(random.uniform(-1, 1));
    drawn.target += drawn.features[i] * static_cast<float>(i + 1);
  }
  return drawn;
}

// Momentum, the only state beside the parameters.
class Optimizer final : public TrainingState {
 public:
  explicit Optimizer(std::size_t floats) : velocity_(floats, 0) {}

  [[nodiscard]] Result<std::string> save() override {
    std::string bytes(velocity_.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), velocity_.data(), bytes.size());
    return bytes;
  }
  [[nodiscard]] Status load(std::string_view bytes) override {
    if (bytes.size() != velocity_.size() * sizeof(float)) {
      return bad_input("momentum of another model");
    }
    std::memcpy(velocity_.data(), bytes.data(), bytes.size());
    return ok_status();
  }

  // Momentum for the regression; counts are added up as they are.
  void apply(std::span<float> parameters, std::span<const float> gradients, float samples) {
    for (std::size_t i = 0; i < kWeights; ++i) {
      velocity_[i] = kMomentum * velocity_[i] + gradients[i];
      parameters[i] -= kRate * velocity_[i];
    }
    for (std::size_t i = kWeights; i < parameters.size(); ++i) {
      parameters[i] = std::round(parameters[i] + samples * gradients[i]);
    }
  }

 private:
  std::vector<float> velocity_;
};

std::span<float> parameters_of(const Arena& arena) {
  const auto bytes = arena.parameters();
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};  // NOLINT
}

// The mean gradient of a shard into its slot; returns the summed loss.
double compute(const StepRange& shard, const EpochOrder& order, std::span<const float> parameters,
               std::span<float> slot) {
  std::ranges::fill(slot, 0.0F);
  double loss = 0;
  const auto count = static_cast<float>(shard.samples());
  for (std::uint64_t at = shard.begin; at < shard.end; ++at) {
    const std::uint64_t number = order.at(at);
    const Sample drawn = sample(number);
    float error = -drawn.target;
    for (std::size_t i = 0; i < kWeights; ++i) {
      error += parameters[i] * drawn.features[i];
    }
    for (std::size_t i = 0; i < kWeights; ++i) {
      slot[i] += error * drawn.features[i] / count;
    }
    slot[kWeights + number] += 1 / count;
    loss += static_cast<double>(error) * static_cast<double>(error);
  }
  return loss;
}

int fail(const Error& error) {
  std::fprintf(stderr, "counting_trainer: %s\n", error.message.c_str());
  return EXIT_FAILURE;
}

// How many samples were not used once in each epoch.
std::size_t wrong_counts(std::span<const float> parameters, std::uint64_t epochs) {
  std::size_t wrong = 0;
  for (const float count : parameters.subspan(kWeights)) {
    wrong += count == static_cast<float>(epochs) ? 0 : 1;
  }
  return wrong;
}

int train(const Workload& work) {
  const auto address = worker_address();
  if (!address) {
    return fail(address.error());
  }
  Optimizer optimizer(work.floats());
  auto joined =
      ElasticWorker::join({.address = *address,
                           .layout = {.parameter_bytes = work.floats() * sizeof(float),
                                      .floats = work.floats(),
                                      .slots = static_cast<std::size_t>(std::max(1, work.shards))},
                           .cut = {.samples = work.samples, .batch = work.batch},
                           .shards = work.shards,
                           .measures_noise = true,
                           .check_every = 1},
                          optimizer);
  if (!joined) {
    return fail(joined.error());
  }
  ElasticWorker& worker = **joined;
  const SampleOrder order{.dataset_size = work.samples, .seed = 7};
  const std::span<float> parameters = parameters_of(worker.arena());
  worker.warm();
  while (true) {
    const auto task = worker.begin();
    if (!task) {
      return fail(task.error());
    }
    if (task->kind == StepKind::Leave) {
      return EXIT_SUCCESS;
    }
    if (task->cursor.epoch >= work.epochs) {
      break;
    }
    double loss = 0;
    std::uint64_t samples = 0;
    const EpochOrder epoch = order.epoch(task->cursor.epoch);
    for (std::size_t slot = 0; slot < task->shards.size(); ++slot) {
      loss += compute(task->shards[slot], epoch, parameters, worker.arena().slot(slot));
      samples += task->shards[slot].samples();
    }
    std::this_thread::sleep_for(work.step / task->size);
    const auto verdict =
        worker.reduce({.loss = samples == 0 ? 0 : loss / static_cast<double>(samples)});
    if (!verdict) {
      return fail(verdict.error());
    }
    if (*verdict == ReduceVerdict::Redo) {
      continue;
    }
    optimizer.apply(parameters, worker.arena().slot(0), static_cast<float>(task->samples));
    if (Status committed = worker.commit(); !committed) {
      return fail(committed.error());
    }
  }
  if (Status finished = worker.finish(); !finished) {
    return fail(finished.error());
  }
  const std::size_t wrong = wrong_counts(parameters, work.epochs);
  std::printf("%zu of %zu samples were not used once in each epoch\n", wrong, work.samples);
  return wrong == 0 ? EXIT_SUCCESS : kExitWrongCounts;
}

}  // namespace
}  // namespace rubato

int main(int count, char** arguments) {
  if (count != 6) {
    std::fprintf(stderr, "counting_trainer SAMPLES BATCH EPOCHS SHARDS STEP_MICROSECONDS\n");
    return EXIT_FAILURE;
  }
  return rubato::train({.samples = std::stoul(arguments[1]),
                        .batch = std::stoul(arguments[2]),
                        .epochs = std::stoul(arguments[3]),
                        .shards = std::stoi(arguments[4]),
                        .step = std::chrono::microseconds(std::stol(arguments[5]))});
}
