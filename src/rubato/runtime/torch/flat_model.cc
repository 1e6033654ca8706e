#include "rubato/runtime/flat_model.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "rubato/base/check.h"

namespace rubato {
namespace {

std::size_t floats_of(const at::Tensor& tensor) { return static_cast<std::size_t>(tensor.numel()); }

std::size_t floats_of(const std::vector<at::Tensor>& tensors) {
  std::size_t sum = 0;
  for (const at::Tensor& tensor : tensors) {
    sum += floats_of(tensor);
  }
  return sum;
}

std::span<float> as_floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};  // NOLINT
}

// A tensor of the same shape whose memory is ours.
at::Tensor view_of(float* memory, const at::Tensor& like) {
  return torch::from_blob(memory, like.sizes(), torch::kFloat32);
}

}  // namespace

struct FlatModel::Tensors {
  std::shared_ptr<torch::nn::Module> model{};
  std::vector<at::Tensor> parameters{};
  std::vector<at::Tensor> buffers{};   // Single precision.
  std::vector<at::Tensor> counters{};  // All others.
  std::vector<at::Tensor> counters_before{};
  std::vector<float> buffers_before{};
  Arena* arena = nullptr;

  [[nodiscard]] std::span<float> slot(std::size_t index) const { return arena->slot(index); }
  // The buffers in the state, one after the other behind the parameters.
  [[nodiscard]] std::span<float> buffer_state() const {
    return as_floats(arena->parameters()).subspan(floats_of(parameters));
  }
  [[nodiscard]] std::span<float> buffers_in(std::size_t index) const {
    return slot(index).subspan(floats_of(parameters), buffers_before.size());
  }
};

FlatModel::FlatModel(std::shared_ptr<torch::nn::Module> model)
    : tensors_(std::make_unique<Tensors>()) {
  tensors_->model = std::move(model);
  tensors_->parameters = tensors_->model->parameters();
  for (const at::Tensor& parameter : tensors_->parameters) {
    RUBATO_CHECK(parameter.scalar_type() == torch::kFloat32 && parameter.device().is_cpu());
  }
  for (const at::Tensor& buffer : tensors_->model->buffers()) {
    const bool is_float = buffer.scalar_type() == torch::kFloat32;
    (is_float ? tensors_->buffers : tensors_->counters).push_back(buffer);
  }
  tensors_->buffers_before.resize(floats_of(tensors_->buffers));
}

FlatModel::~FlatModel() = default;

std::size_t FlatModel::state_floats() const {
  return floats_of(tensors_->parameters) + floats_of(tensors_->buffers);
}

std::size_t FlatModel::gradient_floats() const { return floats_of(tensors_->parameters); }

std::size_t FlatModel::slot_floats() const { return state_floats(); }

void FlatModel::move_into(Arena& arena) {
  tensors_->arena = &arena;
  float* memory = as_floats(arena.parameters()).data();
  const torch::NoGradGuard no_grad;
  for (auto* group : {&tensors_->parameters, &tensors_->buffers}) {
    for (at::Tensor& tensor : *group) {
      at::Tensor moved = view_of(memory, tensor);
      moved.copy_(tensor);
      tensor.set_data(moved);
      memory += floats_of(tensor);
    }
  }
  begin_shard(0);
}

void FlatModel::begin_step() {
  std::ranges::copy(tensors_->buffer_state(), tensors_->buffers_before.begin());
  tensors_->counters_before.clear();
  for (const at::Tensor& counter : tensors_->counters) {
    tensors_->counters_before.push_back(counter.clone());
  }
}

void FlatModel::begin_shard(std::size_t slot) {
  std::ranges::fill(tensors_->slot(slot), 0.0F);
  float* memory = tensors_->slot(slot).data();
  for (at::Tensor& parameter : tensors_->parameters) {
    at::Tensor& gradient = parameter.mutable_grad();
    if (!gradient.defined() || gradient.data_ptr<float>() != memory) {
      gradient = view_of(memory, parameter);
    }
    memory += floats_of(parameter);
  }
  std::ranges::copy(tensors_->buffers_before, tensors_->buffer_state().begin());
}

void FlatModel::end_shard(std::size_t slot) {
  std::ranges::copy(tensors_->buffer_state(), tensors_->buffers_in(slot).begin());
}

void FlatModel::skip_shard(std::size_t slot) { std::ranges::fill(tensors_->slot(slot), 0.0F); }

void FlatModel::take_mean() {
  std::ranges::copy(tensors_->buffers_in(0), tensors_->buffer_state().begin());
  float* memory = tensors_->slot(0).data();
  for (at::Tensor& parameter : tensors_->parameters) {
    at::Tensor& gradient = parameter.mutable_grad();
    if (gradient.data_ptr<float>() != memory) {
      gradient = view_of(memory, parameter);
    }
    memory += floats_of(parameter);
  }
  // A step counts once, however many shards this worker computed.
  for (std::size_t i = 0; i < tensors_->counters.size(); ++i) {
    if (tensors_->counters[i].is_floating_point() || tensors_->counters[i].numel() != 1) {
      continue;
    }
    const bool has_counted = !tensors_->counters[i].equal(tensors_->counters_before[i]);
    tensors_->counters[i].copy_(tensors_->counters_before[i] + (has_counted ? 1 : 0));
  }
}

void FlatModel::undo_step() {
  std::ranges::copy(tensors_->buffers_before, tensors_->buffer_state().begin());
  for (std::size_t i = 0; i < tensors_->counters.size(); ++i) {
    tensors_->counters[i].copy_(tensors_->counters_before[i]);
  }
}

void FlatModel::save_counters(torch::serialize::OutputArchive& archive) const {
  for (std::size_t i = 0; i < tensors_->counters.size(); ++i) {
    archive.write("rubato_counter_" + std::to_string(i), tensors_->counters[i], true);
  }
}

void FlatModel::load_counters(torch::serialize::InputArchive& archive) {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < tensors_->counters.size(); ++i) {
    at::Tensor counter;
    archive.read("rubato_counter_" + std::to_string(i), counter, true);
    tensors_->counters[i].copy_(counter);
  }
}

}  // namespace rubato
