// The operators that cannot be left to run_kernel: those that make or copy tensors, those that only
// look at them another way, and those that torch has for CUDA alone.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "rubato/runtime/testing/pretend_cuda/device.h"
#include "rubato/runtime/testing/pretend_cuda/kernels.h"
#include "rubato/runtime/testing/pretend_cuda/process.h"

namespace rubato::runtime::testing {
namespace {

constexpr c10::DispatchKeySet kDeviceKeys(c10::DispatchKey::CUDA);

// The device to make a tensor on.
c10::Device chosen_device(c10::optional<c10::Device> device) {
  const int index = device && device->has_index() ? device->index() : selected_device();
  check_usable(index);
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

void refuse_pinned(c10::optional<bool> pinned) {
  TORCH_CHECK(!pinned.value_or(false), "Only dense CPU tensors can be pinned");
}

at::Tensor make_empty(at::IntArrayRef sizes, c10::optional<at::ScalarType> type,
                      c10::optional<at::Layout>, c10::optional<c10::Device> device,
                      c10::optional<bool> pinned, c10::optional<at::MemoryFormat> format) {
  refuse_pinned(pinned);
  const c10::DeviceGuard guard(chosen_device(device));
  return at::detail::empty_generic(sizes, device_allocator(), kDeviceKeys,
                                   c10::dtype_or_default(type), format);
}

at::Tensor make_empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                              c10::optional<at::ScalarType> type, c10::optional<at::Layout>,
                              c10::optional<c10::Device> device, c10::optional<bool> pinned) {
  refuse_pinned(pinned);
  const c10::DeviceGuard guard(chosen_device(device));
  return at::detail::empty_strided_generic(sizes, strides, device_allocator(), kDeviceKeys,
                                           c10::dtype_or_default(type));
}

/// A copy between host and device, as a device's own copying unit does it: plain bytes. It keeps
/// both memories alive until it is done.
struct BytesCopy {
  c10::Storage from{};
  c10::Storage to{};
  const void* source = nullptr;
  void* target = nullptr;
  std::size_t bytes = 0;

  void operator()() const { std::memcpy(target, source, bytes); }
};

void* bytes_of(const at::Tensor& tensor) {
  return tensor.is_cuda() ? pretended().memory.window(tensor.data_ptr()) : tensor.data_ptr();
}

// Only copies of plain bytes from or to pinned memory leave the host free to go on.
bool may_be_late(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  const at::Tensor& host = to.is_cuda() ? from : to;
  return non_blocking && pretended().pinned.holds(host.data_ptr()) && to.dtype() == from.dtype() &&
         to.sizes() == from.sizes() && to.is_contiguous() && from.is_contiguous() &&
         !to.is_conj() && !from.is_conj() && !to.is_neg() && !from.is_neg();
}

void copy_late(const at::Tensor& to, const at::Tensor& from, const StreamName& stream) {
  const BytesCopy copy{.from = from.storage(),
                       .to = to.storage(),
                       .source = bytes_of(from),
                       .target = bytes_of(to),
                       .bytes = to.nbytes()};
  StreamQueues& streams = pretended().streams;
  if (streams.late()) {
    std::memset(copy.target, 0xFF, copy.bytes);
  }
  streams.enqueue(stream, copy);
}

at::Tensor& copy_between(at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  if (to.is_same(from)) {
    return to;
  }
  const c10::Device device = to.is_cuda() ? to.device() : from.device();
  const bool crosses = to.is_cuda() != from.is_cuda();
  const StreamName stream = selected_stream(device.index());
  if (crosses) {
    check_usable(device.index());
    ++pretended().counters.copies;
    if (to.numel() > 0 && may_be_late(to, from, non_blocking)) {
      copy_late(to, from, stream);
      return to;
    }
    ++pretended().counters.host_waits;
  }
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  if (to.is_cuda() && from.is_cuda() && to.device() != from.device()) {
    pretended().streams.finish(selected_stream(from.device().index()));
  }
  const KernelScope scope(device.index());
  pretended().counters.kernels -= crosses ? 1 : 0;
  at::Tensor target = to.is_cuda() ? window_tensor(to) : to;
  target.copy_(from.is_cuda() ? window_tensor(from) : from);
  return to;
}

at::Tensor& set_storage_and_sizes(at::Tensor& self, c10::Storage storage, std::int64_t offset,
                                  at::IntArrayRef sizes, at::IntArrayRef strides) {
  c10::TensorImpl* const impl = self.unsafeGetTensorImpl();
  TORCH_CHECK(storage.device() == self.device() || storage.data() == nullptr, "Attempted to set ",
              "the storage of a tensor on device \"", self.device(), "\" to a storage on device \"",
              storage.device(), "\"");
  impl->set_storage_keep_dtype(std::move(storage));
  impl->set_storage_offset(offset);
  if (strides.empty() && !sizes.empty()) {
    impl->set_sizes_contiguous(sizes);
  } else {
    impl->set_sizes_and_strides(sizes, strides);
  }
  return self;
}

at::Tensor& set_storage(at::Tensor& self, c10::Storage storage) {
  const auto count =
      static_cast<std::int64_t>(storage.nbytes() / std::max<std::size_t>(self.itemsize(), 1));
  return set_storage_and_sizes(self, std::move(storage), 0, {count}, {});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  return set_storage_and_sizes(self, source.storage(), source.storage_offset(), source.sizes(),
                               source.strides());
}

at::Tensor& set_nothing(at::Tensor& self) {
  const c10::DeviceGuard guard(self.device());
  return set_storage_and_sizes(
      self,
      c10::Storage(c10::Storage::use_byte_size_t(), 0, device_allocator()->allocate(0),
                   device_allocator(), /*resizable=*/true),
      0, {0}, {});
}

bool is_pinned(const at::Tensor& self, c10::optional<c10::Device>) {
  return pretended().pinned.holds(self.storage().data());
}

at::Tensor pin_memory(const at::Tensor& self, c10::optional<c10::Device>) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  at::Tensor pinned = at::detail::empty_strided_cpu(self.sizes(), self.strides(),
                                                    self.scalar_type(), /*pin_memory=*/true);
  return pinned.copy_(self);
}

// Memory in use by a copy that was kept back is held by it.
void record_stream(at::Tensor&, c10::Stream) {}

// It has no generator among its arguments, so the host's would be used.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p,
                                                  c10::optional<bool> train) {
  if (!train.value_or(true)) {
    return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  }
  const at::Tensor kept = at::empty_like(input).bernoulli_(1 - p);
  const double scale = p >= 1 ? 0 : 1 / (1 - p);
  return {input.mul(kept).mul_(scale), kept.to(at::kBool)};
}

void unscale_and_check(at::TensorList gradients, at::Tensor& found_inf,
                       const at::Tensor& inverse_scale) {
  if (gradients.empty()) {
    return;
  }
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const KernelScope scope(found_inf.device().index());
  at::Tensor found = window_tensor(found_inf);
  const at::Tensor factor = window_tensor(inverse_scale);
  for (const at::Tensor& gradient : gradients) {
    at::Tensor host = window_tensor(gradient);
    const at::Tensor wide = host.scalar_type() == at::kDouble ? host : host.to(at::kFloat);
    if (!wide.isfinite().all().item<bool>()) {
      found.fill_(1);
    }
    host.copy_(wide.mul(factor));
  }
}

at::Tensor& update_scale(at::Tensor& scale, at::Tensor& tracker, const at::Tensor& found_inf,
                         double growth, double backoff, std::int64_t interval) {
  const KernelScope scope(scale.device().index());
  auto* const factor = static_cast<float*>(bytes_of(scale));
  auto* const successes = static_cast<std::int32_t*>(bytes_of(tracker));
  if (*static_cast<const float*>(bytes_of(found_inf)) > 0) {
    *factor *= static_cast<float>(backoff);
    *successes = 0;
  } else if (++*successes == interval) {
    const float grown = *factor * static_cast<float>(growth);
    *factor = std::isfinite(grown) ? grown : *factor;
    *successes = 0;
  }
  return scale;
}

bool no_cudnn_ctc(const at::Tensor&, const at::Tensor&, at::IntArrayRef, at::IntArrayRef,
                  std::int64_t) {
  return false;
}

bool chooses_type(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.arguments(), [](const c10::Argument& argument) {
    return argument.name() == "dtype" || argument.name() == "input_dtype" ||
           argument.name() == "half_to_float";
  });
}

// Operators of the host that torch would else reach by way of their out= variants, which are not
// quite the same code. Those whose arguments choose the type of the result stay with that way,
// since run_kernel could not tell which type is wanted.
void take_host_operators(torch::Library& library) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (!op || !name.name.starts_with("aten::") ||
        op->hasKernelForDispatchKey(c10::DispatchKey::CUDA) ||
        !op->hasKernelForDispatchKey(c10::DispatchKey::CPU) || chooses_type(op->schema())) {
      continue;
    }
    const std::string short_name = name.name.substr(std::string("aten::").size());
    const std::string full =
        name.overload_name.empty() ? short_name : short_name + "." + name.overload_name;
    library.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&run_kernel>());
  }
}

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_kernel>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", TORCH_FN(make_empty));
  library.impl("empty_strided", TORCH_FN(make_empty_strided));
  library.impl("copy_", TORCH_FN(copy_between));
  library.impl("set_.source_Storage", TORCH_FN(set_storage));
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage_and_sizes));
  library.impl("set_.source_Tensor", TORCH_FN(set_tensor));
  library.impl("set_", TORCH_FN(set_nothing));
  library.impl("is_pinned", TORCH_FN(is_pinned));
  library.impl("_pin_memory", TORCH_FN(pin_memory));
  library.impl("record_stream", TORCH_FN(record_stream));
  // Views touch no memory.
  library.impl("view", TORCH_FN(at::native::view));
  library.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  library.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  library.impl("unfold", TORCH_FN(at::native::unfold));
  library.impl("native_dropout", TORCH_FN(native_dropout));
  library.impl("_amp_foreach_non_finite_check_and_unscale_", TORCH_FN(unscale_and_check));
  library.impl("_amp_update_scale_", TORCH_FN(update_scale));
  library.impl("_use_cudnn_ctc_loss", TORCH_FN(no_cudnn_ctc));
  // Torch would choose a slow way for a device without cuDNN.
  library.impl("convolution", torch::CppFunction::makeFromBoxedFunction<&run_kernel>());
  library.impl("convolution_backward", torch::CppFunction::makeFromBoxedFunction<&run_kernel>());
  take_host_operators(library);
}

}  // namespace
}  // namespace rubato::runtime::testing
