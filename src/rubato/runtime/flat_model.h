// A libtorch model whose parameters, buffers and gradients lie in an arena, one after the other, so
// that they can be summed and handed over as plain memory.
#pragma once

#include <cstddef>
#include <memory>

#include "rubato/runtime/arena.h"

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

/// The model of one worker. Parameters must be single-precision and on the CPU.
class FlatModel {
 public:
  explicit FlatModel(std::shared_ptr<torch::nn::Module> model);
  ~FlatModel();
  FlatModel(const FlatModel&) = delete;
  FlatModel& operator=(const FlatModel&) = delete;

  /// Parameters and single-precision buffers together.
  [[nodiscard]] std::size_t state_floats() const;
  [[nodiscard]] std::size_t gradient_floats() const;
  /// A slot has the gradients, then the buffers, which are averaged likewise.
  [[nodiscard]] std::size_t slot_floats() const;
  /// From now on the model lives there; the arena outlives it.
  void move_into(Arena& arena);

  /// Remembers the buffers: every shard of a step begins with the same ones.
  void begin_step();
  /// Gradients of this shard go to its slot, which is zeroed.
  void begin_shard(std::size_t slot);
  /// The buffers as the shard left them go to its slot.
  void end_shard(std::size_t slot);
  /// A shard without samples counts for nothing.
  void skip_shard(std::size_t slot);
  /// After a sum: slot 0 holds mean gradients and buffers.
  void take_mean();
  /// After a failure: the buffers are as before the step.
  void undo_step();

  /// Buffers that are no floats, such as counters.
  void save_counters(torch::serialize::OutputArchive& archive) const;
  void load_counters(torch::serialize::InputArchive& archive);

 private:
  struct Tensors;
  std::unique_ptr<Tensors> tensors_;
};

}  // namespace rubato
