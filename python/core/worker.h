// An elastic worker as Python sees it: errors become exceptions, memory becomes buffers, and the
// program's own state is asked of two Python functions. libtorch is not needed: `torch.frombuffer`
// makes tensors of the buffers, so one build serves every version of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "rubato/runtime/worker/elastic_worker.h"

namespace rubato::python {

/// The optimizer and whatever else the script keeps, behind two Python functions.
class CallbackState final : public TrainingState {
 public:
  CallbackState(pybind11::function save, pybind11::function load)
      : save_(std::move(save)), load_(std::move(load)) {}

  [[nodiscard]] Result<std::string> save() override;
  [[nodiscard]] Status load(std::string_view bytes) override;

 private:
  pybind11::function save_;
  pybind11::function load_;
};

/// A worker and the state it hands over. Blocking calls let other Python threads run.
class Worker {
 public:
  Worker(WorkerSetup setup, pybind11::function save, pybind11::function load);

  /// Raises once the worker is closed.
  [[nodiscard]] ElasticWorker& core();
  /// Ends the threads. Without this they would still run while the process is torn down.
  void close();
  /// Nothing: this worker is not needed any more.
  [[nodiscard]] std::optional<StepTask> begin();
  /// False: begin again.
  [[nodiscard]] bool reduce(double loss, double data_seconds, double tag);
  /// Nothing: begin again.
  [[nodiscard]] std::optional<pybind11::bytes> copy_from(int rank, std::string bytes);
  void commit();
  void finish();

 private:
  CallbackState state_;
  std::unique_ptr<ElasticWorker> core_;
};

/// A part of a worker's arena. Shares the arena, so that tensors may outlive their trainer.
struct ArenaView {
  std::shared_ptr<Arena> owner{};
  void* memory = nullptr;
  std::size_t items = 0;
  bool is_float = false;
};

void bind_worker(pybind11::module_& module);
void bind_batches(pybind11::module_& module);

}  // namespace rubato::python
