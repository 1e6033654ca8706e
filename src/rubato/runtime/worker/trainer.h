// Elastic training in C++ with a libtorch model. The program keeps its loop; the trainer says which
// samples are this worker's and applies the gradients of all.
//
//   rubato::Trainer trainer(model, optimizer, {.samples = 60000, .batch = 256, .epochs = 5});
//   while (const auto* part = trainer.next()) {
//     trainer.step(loss_of(model, part->samples));
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/result.h"

namespace at {
class Tensor;
}
namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace rubato {

/// How a training job uses its data.
struct TrainerOptions {
  std::uint64_t samples = 0;  // In the dataset.
  std::uint64_t batch = 1;    // Of all workers together.
  std::uint64_t epochs = 1;
  bool is_shuffled = true;
  bool drops_last = false;
  bool is_deterministic = false;  // The same bits whatever the number of workers, up to eight.
  bool measures_noise = false;
  std::string address = "127.0.0.1";  // Of this host, for workers on others.
};

/// Samples of which this worker must now compute the mean loss.
struct TrainerPart {
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;
  std::span<const std::int64_t> samples{};  // Numbers in the dataset; never empty.
};

/// One worker of an elastic job; without a conductor it trains alone. Parameters, buffers and
/// gradients of the model move into memory that other workers see.
class Trainer {
 public:
  /// Fails by `status`: nothing else may be called then.
  Trainer(std::shared_ptr<torch::nn::Module> model, torch::optim::Optimizer& optimizer,
          TrainerOptions options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  [[nodiscard]] const Status& status() const;
  /// The next part; null at the end: then `status` tells whether training is complete.
  [[nodiscard]] const TrainerPart* next();
  /// Backward, sum over all workers, and the optimizer's step.
  void step(const at::Tensor& loss);

  /// Only one worker should write results.
  [[nodiscard]] bool is_leader() const;
  /// True once all epochs are done; false for a worker that was sent away.
  [[nodiscard]] bool is_complete() const;
  /// Mean loss over all samples of the last step.
  [[nodiscard]] double loss() const;
  /// The batch at which noise and signal are equal; 0: not measured yet.
  [[nodiscard]] double noise_scale() const;
  [[nodiscard]] std::uint64_t parameter_hash() const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace rubato
