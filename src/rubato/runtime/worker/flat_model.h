// A libtorch model whose parameters, buffers and gradients lie in an arena, one after the other, so
// that they can be summed and handed over as plain memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/runtime/shared_memory/arena.h"

namespace torch {
namespace nn {
class Module;
}
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize
}  // namespace torch

namespace rubato {

/// The model of one worker. Parameters must be single-precision and on the CPU. Statistics of batch
/// and instance normalisation are averaged over workers; all other buffers must change alike on
/// every worker, which `tag` lets them compare.
class FlatModel {
 public:
  explicit FlatModel(std::shared_ptr<torch::nn::Module> model);
  ~FlatModel();
  FlatModel(const FlatModel&) = delete;
  FlatModel& operator=(const FlatModel&) = delete;

  /// Parameters and statistics together.
  [[nodiscard]] std::size_t state_floats() const;
  [[nodiscard]] std::size_t gradient_floats() const;
  /// A slot has the gradients, then the statistics, which are averaged likewise, then a number for
  /// each parameter that tells whether it had a gradient.
  [[nodiscard]] std::size_t slot_floats() const;
  /// From now on the model lives there; the arena outlives it.
  void move_into(Arena& arena);
  /// Parameters that the program has bound to other memory since (`set_data`) go back to the arena
  /// with their values. Fails if their type or shape is another one.
  [[nodiscard]] Status bring_back();

  /// Remembers the buffers: every shard of a step begins with the same ones.
  void begin_step();
  void begin_shard();
  /// Gradients, and statistics as the shard left them, go to its slot.
  void end_shard(std::size_t slot);
  /// A shard without samples counts for nothing.
  void skip_shard(std::size_t slot);
  /// The statistics are those of before the step, as on every worker.
  void restore_statistics();
  /// After a sum: slot 0 holds mean gradients and statistics. Parameters that had no gradient on
  /// any worker have none, so that an optimizer leaves them alone.
  void take_mean();
  /// After a failure: the buffers are as before the step.
  void undo_step();

  /// Of all buffers that are not averaged: positive, the same where they are.
  [[nodiscard]] double tag() const;
  [[nodiscard]] std::string save_buffers() const;
  [[nodiscard]] Status load_buffers(std::string_view bytes);

  void save_buffers(torch::serialize::OutputArchive& archive) const;
  void load_buffers(torch::serialize::InputArchive& archive);

 private:
  struct Tensors;
  std::unique_ptr<Tensors> tensors_;
};

}  // namespace rubato
