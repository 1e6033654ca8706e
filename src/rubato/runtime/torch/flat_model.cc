#include "rubato/runtime/worker/flat_model.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "rubato/base/check.h"
#include "rubato/runtime/worker/content_hash.h"

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

std::span<std::byte> bytes_in(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.nbytes())};
}

// True for layers whose buffers are statistics of a batch.
bool is_normalisation(const torch::nn::Module& module) {
  using namespace torch::nn;
  return module.as<BatchNorm1d>() != nullptr || module.as<BatchNorm2d>() != nullptr ||
         module.as<BatchNorm3d>() != nullptr || module.as<InstanceNorm1d>() != nullptr ||
         module.as<InstanceNorm2d>() != nullptr || module.as<InstanceNorm3d>() != nullptr;
}

}  // namespace

struct FlatModel::Tensors {
  std::shared_ptr<torch::nn::Module> model{};
  std::vector<at::Tensor> parameters{};
  std::vector<at::Tensor> statistics{};  // Means and variances of normalisation layers.
  std::vector<at::Tensor> counters{};    // Of batches that normalisation layers have seen.
  std::vector<at::Tensor> others{};      // Buffers that are not averaged.
  std::vector<std::vector<std::int64_t>> shapes{};  // Of parameters, then of statistics.
  std::vector<at::Tensor> counters_before{};
  std::vector<at::Tensor> others_before{};
  std::vector<float> statistics_before{};
  Arena* arena = nullptr;

  void sort_buffers() {
    for (const auto& module : model->modules()) {
      const bool is_averaged = is_normalisation(*module);
      for (const auto& buffer : module->named_buffers(/*recurse=*/false)) {
        const at::Tensor& tensor = buffer.value();
        if (!tensor.defined()) {
          continue;
        }
        const bool is_statistic = is_averaged && tensor.scalar_type() == torch::kFloat32;
        const bool is_counter = is_averaged && !tensor.is_floating_point() && tensor.numel() == 1;
        (is_statistic ? statistics : is_counter ? counters : others).push_back(tensor);
      }
    }
  }
  [[nodiscard]] std::span<float> slot(std::size_t index) const { return arena->slot(index); }
  // The statistics in the state, one after the other behind the parameters.
  [[nodiscard]] std::span<float> statistics_state() const {
    return as_floats(arena->parameters()).subspan(floats_of(parameters));
  }
  [[nodiscard]] std::span<float> statistics_in(std::size_t index) const {
    return slot(index).subspan(floats_of(parameters), statistics_before.size());
  }
  [[nodiscard]] std::span<float> presences_in(std::size_t index) const {
    return slot(index).subspan(floats_of(parameters) + statistics_before.size(), parameters.size());
  }
};

FlatModel::FlatModel(std::shared_ptr<torch::nn::Module> model)
    : tensors_(std::make_unique<Tensors>()) {
  tensors_->model = std::move(model);
  tensors_->parameters = tensors_->model->parameters();
  for (const at::Tensor& parameter : tensors_->parameters) {
    RUBATO_CHECK(parameter.scalar_type() == torch::kFloat32 && parameter.device().is_cpu());
  }
  tensors_->sort_buffers();
  tensors_->statistics_before.resize(floats_of(tensors_->statistics));
}

FlatModel::~FlatModel() = default;

std::size_t FlatModel::state_floats() const {
  return floats_of(tensors_->parameters) + floats_of(tensors_->statistics);
}

std::size_t FlatModel::gradient_floats() const { return floats_of(tensors_->parameters); }

std::size_t FlatModel::slot_floats() const { return state_floats() + tensors_->parameters.size(); }

void FlatModel::move_into(Arena& arena) {
  tensors_->arena = &arena;
  float* memory = as_floats(arena.parameters()).data();
  const torch::NoGradGuard no_grad;
  for (auto* group : {&tensors_->parameters, &tensors_->statistics}) {
    for (at::Tensor& tensor : *group) {
      at::Tensor moved = view_of(memory, tensor);
      moved.copy_(tensor);
      tensor.set_data(moved);
      tensors_->shapes.push_back(tensor.sizes().vec());
      memory += floats_of(tensor);
    }
  }
}

Status FlatModel::bring_back() {
  const torch::NoGradGuard no_grad;
  float* memory = as_floats(tensors_->arena->parameters()).data();
  std::size_t number = 0;
  for (auto* group : {&tensors_->parameters, &tensors_->statistics}) {
    for (at::Tensor& tensor : *group) {
      const std::vector<std::int64_t>& shape = tensors_->shapes[number++];
      if (tensor.scalar_type() != torch::kFloat32 || !tensor.device().is_cpu() ||
          tensor.sizes() != shape) {
        return bad_input(
            "a parameter or buffer has another type, device or shape than when the "
            "trainer was made");
      }
      if (tensor.data_ptr() != memory || !tensor.is_contiguous()) {
        at::Tensor view = view_of(memory, tensor);
        view.copy_(tensor.clone());  // It may be another view of the same memory.
        tensor.set_data(view);
      }
      memory += floats_of(tensor);
    }
  }
  return ok_status();
}

void FlatModel::begin_step() {
  std::ranges::copy(tensors_->statistics_state(), tensors_->statistics_before.begin());
  const auto copies = [](const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> copied;
    for (const at::Tensor& tensor : tensors) {
      copied.push_back(tensor.clone());
    }
    return copied;
  };
  tensors_->counters_before = copies(tensors_->counters);
  tensors_->others_before = copies(tensors_->others);
}

void FlatModel::begin_shard() {
  for (at::Tensor& parameter : tensors_->parameters) {
    parameter.mutable_grad().reset();
  }
  undo_step();
}

void FlatModel::end_shard(std::size_t slot) {
  const torch::NoGradGuard no_grad;
  float* memory = tensors_->slot(slot).data();
  for (std::size_t i = 0; i < tensors_->parameters.size(); ++i) {
    const at::Tensor& parameter = tensors_->parameters[i];
    const at::Tensor& gradient = parameter.grad();
    tensors_->presences_in(slot)[i] = gradient.defined() ? 1.0F : 0.0F;
    if (gradient.defined()) {
      view_of(memory, parameter).copy_(gradient);
    } else {
      std::ranges::fill(std::span(memory, floats_of(parameter)), 0.0F);
    }
    memory += floats_of(parameter);
  }
  std::ranges::copy(tensors_->statistics_state(), tensors_->statistics_in(slot).begin());
}

void FlatModel::skip_shard(std::size_t slot) { std::ranges::fill(tensors_->slot(slot), 0.0F); }

void FlatModel::restore_statistics() {
  std::ranges::copy(tensors_->statistics_before, tensors_->statistics_state().begin());
}

void FlatModel::take_mean() {
  std::ranges::copy(tensors_->statistics_in(0), tensors_->statistics_state().begin());
  float* memory = tensors_->slot(0).data();
  for (std::size_t i = 0; i < tensors_->parameters.size(); ++i) {
    at::Tensor& parameter = tensors_->parameters[i];
    if (tensors_->presences_in(0)[i] > 0) {
      parameter.mutable_grad() = view_of(memory, parameter);
    } else {
      parameter.mutable_grad().reset();
    }
    memory += floats_of(parameter);
  }
  // A step counts once, however many shards this worker computed.
  for (std::size_t i = 0; i < tensors_->counters.size(); ++i) {
    const bool has_counted = !tensors_->counters[i].equal(tensors_->counters_before[i]);
    tensors_->counters[i].copy_(tensors_->counters_before[i] + (has_counted ? 1 : 0));
  }
}

void FlatModel::undo_step() {
  const torch::NoGradGuard no_grad;
  restore_statistics();
  for (std::size_t i = 0; i < tensors_->counters.size(); ++i) {
    tensors_->counters[i].copy_(tensors_->counters_before[i]);
  }
  for (std::size_t i = 0; i < tensors_->others.size(); ++i) {
    tensors_->others[i].copy_(tensors_->others_before[i]);
  }
}

double FlatModel::tag() const {
  std::uint64_t hash = 0;
  for (const at::Tensor& tensor : tensors_->others) {
    const at::Tensor values = tensor.contiguous();
    const std::array<std::uint64_t, 2> both{hash, content_hash(bytes_in(values))};
    hash = content_hash(std::as_bytes(std::span(both)));
  }
  return static_cast<double>(hash >> 12U) + 1;  // A double holds 53 bits exactly.
}

std::string FlatModel::save_buffers() const {
  std::string bytes;
  for (const at::Tensor& tensor : tensors_->others) {
    const at::Tensor values = tensor.contiguous();
    bytes.append(static_cast<const char*>(values.data_ptr()), values.nbytes());
  }
  return bytes;
}

Status FlatModel::load_buffers(std::string_view bytes) {
  const torch::NoGradGuard no_grad;
  for (at::Tensor& tensor : tensors_->others) {
    at::Tensor values = torch::empty_like(tensor, torch::MemoryFormat::Contiguous);
    if (bytes.size() < values.nbytes()) {
      return bad_input("another worker's buffers have other sizes");
    }
    std::memcpy(values.data_ptr(), bytes.data(), values.nbytes());
    bytes.remove_prefix(values.nbytes());
    tensor.copy_(values);
  }
  return ok_status();
}

void FlatModel::save_buffers(torch::serialize::OutputArchive& archive) const {
  int number = 0;
  for (const auto* group : {&tensors_->counters, &tensors_->others}) {
    for (const at::Tensor& tensor : *group) {
      archive.write("rubato_buffer_" + std::to_string(number++), tensor, true);
    }
  }
}

void FlatModel::load_buffers(torch::serialize::InputArchive& archive) {
  const torch::NoGradGuard no_grad;
  int number = 0;
  for (auto* group : {&tensors_->counters, &tensors_->others}) {
    for (at::Tensor& tensor : *group) {
      at::Tensor loaded;
      archive.read("rubato_buffer_" + std::to_string(number++), loaded, true);
      tensor.copy_(loaded);
    }
  }
}

}  // namespace rubato
