#include "rubato/runtime/testing/pretend_cuda/kernels.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>

#include "rubato/runtime/testing/pretend_cuda/device.h"
#include "rubato/runtime/testing/pretend_cuda/process.h"

namespace rubato::runtime::testing {
namespace {

using Stack = std::vector<c10::IValue>;

// Operators that give the host a value, or a result whose size the host must know.
const std::set<std::string> kWaitingOperators = {
    "aten::_local_scalar_dense",
    "aten::equal",
    "aten::masked_select",
    "aten::nonzero",
    "aten::_unique2",
    "aten::unique_dim",
    "aten::unique_consecutive",
    "aten::bincount",
};

// Operators that may round otherwise on another model of device.
const std::set<std::string> kRoundedOperators = {
    "aten::mm",    "aten::addmm", "aten::bmm",         "aten::baddbmm",
    "aten::addmv", "aten::dot",   "aten::convolution", "aten::convolution_backward",
};

bool is_low_precision(const at::Tensor& tensor) {
  return tensor.defined() &&
         (tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16);
}

// A tensor like another one, with other memory on other devices.
at::Tensor tensor_on(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like) {
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(key), like.dtype());
  c10::TensorImpl* const impl = made.unsafeGetTensorImpl();
  impl->set_storage_offset(like.storage_offset());
  impl->set_sizes_and_strides(like.sizes(), like.strides());
  return made;
}

c10::Storage window_storage(const c10::Storage& storage) {
  return c10::Storage(
      c10::Storage::use_byte_size_t(), storage.nbytes(),
      c10::DataPtr(pretended().memory.window(storage.data()), c10::Device(c10::DeviceType::CPU)),
      c10::GetCPUAllocator(), /*resizable=*/true);
}

/// The host's tensors of one kernel: on the window of the device's arguments, and back.
class KernelTensors {
 public:
  explicit KernelTensors(c10::Device device) : device_(device) {}

  at::Tensor to_host(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.is_cuda()) {
      return tensor;
    }
    const auto known = hosts_.find(tensor.unsafeGetTensorImpl());
    if (known != hosts_.end()) {
      return known->second.host;
    }
    c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
    const auto [slot, is_new] = storages_.try_emplace(storage);
    if (is_new) {
      slot->second = window_storage(tensor.storage());
      owners_.emplace(slot->second.unsafeGetStorageImpl(), tensor.storage());
    }
    at::Tensor host = tensor_on(slot->second, c10::DispatchKey::CPU, tensor);
    devices_.emplace(host.unsafeGetTensorImpl(), tensor);
    hosts_.emplace(tensor.unsafeGetTensorImpl(), Pair{.device = tensor, .host = host});
    return host;
  }

  at::Tensor to_device(const at::Tensor& host) {
    if (!host.defined()) {
      return host;
    }
    const auto argument = devices_.find(host.unsafeGetTensorImpl());
    if (argument != devices_.end()) {
      return argument->second;
    }
    c10::StorageImpl* const storage = host.storage().unsafeGetStorageImpl();
    const auto [slot, is_new] = owners_.try_emplace(storage);
    if (is_new) {
      kept_.push_back(host.storage());  // So that no other storage gets its address meanwhile.
      slot->second = adopt(host.storage());
    }
    return tensor_on(slot->second, c10::DispatchKey::CUDA, host);
  }

  // Arguments that the operator has resized get their new memory and sizes.
  void write_sizes() {
    for (auto& [storage, host] : storages_) {
      if (host.data() != pretended().memory.window(storage->data())) {
        storage->set_nbytes(host.nbytes());
        storage->set_data_ptr_noswap(adopt_pointer(host));
      }
    }
    for (auto& [impl, pair] : hosts_) {
      if (pair.device.sizes() != pair.host.sizes() ||
          pair.device.strides() != pair.host.strides()) {
        impl->set_storage_offset(pair.host.storage_offset());
        impl->set_sizes_and_strides(pair.host.sizes(), pair.host.strides());
      }
    }
  }

 private:
  struct Pair {
    at::Tensor device{};
    at::Tensor host{};
  };

  // The memory of a host storage as memory of the device; a copy if it lies outside of the window.
  c10::DataPtr adopt_pointer(const c10::Storage& host) const {
    DeviceMemory& memory = pretended().memory;
    void* address = nullptr;
    if (memory.is_window(host.data())) {
      c10::DataPtr taken = host.set_data_ptr(c10::DataPtr());
      address = memory.address(taken.release_context());
    } else if (host.nbytes() > 0) {
      const c10::DeviceGuard guard(device_);
      address = device_allocator()->raw_allocate(host.nbytes());
      std::memcpy(memory.window(address), host.data(), host.nbytes());
    }
    return {address, address, &release_address, device_};
  }

  c10::Storage adopt(const c10::Storage& host) const {
    const std::size_t bytes = host.nbytes();
    return c10::Storage(c10::Storage::use_byte_size_t(), bytes, adopt_pointer(host),
                        device_allocator(), /*resizable=*/true);
  }

  c10::Device device_;
  std::map<c10::TensorImpl*, Pair> hosts_{};
  std::map<c10::TensorImpl*, at::Tensor> devices_{};
  std::map<c10::StorageImpl*, c10::Storage> storages_{};  // Of the device: on the window.
  std::map<c10::StorageImpl*, c10::Storage> owners_{};    // On the host: of the device.
  std::vector<c10::Storage> kept_{};
};

// Applies a function to every tensor of a value; lists are new ones, since callers own theirs.
template <typename Function>
c10::IValue with_tensors(const c10::IValue& value, const Function& function) {
  if (value.isTensor()) {
    return function(value.toTensor());
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> made;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      made.push_back(function(tensor));
    }
    return made;
  }
  if (value.isOptionalTensorList()) {
    c10::List<c10::optional<at::Tensor>> made;
    for (const c10::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      made.push_back(tensor ? c10::make_optional(function(*tensor)) : c10::nullopt);
    }
    return made;
  }
  return value;
}

// The device that the arguments lie on, or that they name, or the current one.
c10::Device device_of(const Stack& arguments) {
  std::optional<c10::Device> found;
  for (const c10::IValue& argument : arguments) {
    with_tensors(argument, [&](const at::Tensor& tensor) {
      if (tensor.defined() && tensor.is_cuda()) {
        TORCH_CHECK(!found || *found == tensor.device(),
                    "Expected all tensors to be on the same device, but found at least two "
                    "devices, ",
                    *found, " and ", tensor.device(), "!");
        found = tensor.device();
      }
      return tensor;
    });
  }
  for (const c10::IValue& argument : arguments) {
    if (!found && argument.isDevice() && argument.toDevice().is_cuda()) {
      found = argument.toDevice();
    }
  }
  const int index = found && found->has_index() ? found->index() : selected_device();
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

// Host tensors of more than zero dimensions are refused, as CUDA does, but for indices.
void refuse_host_tensors(const std::string& name, const Stack& arguments, c10::Device device) {
  const bool takes_indices =
      name == "aten::index" || name == "aten::index_put_" || name == "aten::_index_put_impl_";
  for (const c10::IValue& argument : arguments) {
    if (takes_indices && argument.isOptionalTensorList()) {
      continue;
    }
    with_tensors(argument, [&](const at::Tensor& tensor) {
      TORCH_CHECK(!tensor.defined() || tensor.is_cuda() || tensor.dim() == 0,
                  "Expected all tensors to be on the same device, but found at least two devices, ",
                  device, " and ", tensor.device(), "!");
      return tensor;
    });
  }
}

bool takes_generator(const c10::Argument& argument) {
  const auto* optional = argument.type()->castRaw<c10::OptionalType>();
  return optional != nullptr && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
}

// The arguments of the host's operator.
Stack host_arguments(const c10::OperatorHandle& op, const Stack& arguments, c10::Device device,
                     KernelTensors& tensors) {
  Stack made;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const c10::IValue& argument = arguments[index];
    if (argument.isDevice()) {
      made.emplace_back(c10::Device(c10::DeviceType::CPU));
    } else if (argument.isGenerator()) {
      const at::Generator given = argument.toGenerator();
      made.emplace_back(host_generator(device.index(), &given));
    } else if (argument.isNone() && takes_generator(op.schema().arguments()[index])) {
      made.emplace_back(host_generator(device.index(), nullptr));
    } else {
      made.push_back(with_tensors(
          argument, [&](const at::Tensor& tensor) { return tensors.to_host(tensor); }));
    }
  }
  return made;
}

void call_host(const c10::OperatorHandle& op, Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

/// One kernel that the host has in single precision only: arguments are widened, the results
/// rounded, as a device does that accumulates in single precision.
class WidenedCall {
 public:
  explicit WidenedCall(const Stack& arguments) {
    for (const c10::IValue& argument : arguments) {
      made_.push_back(with_tensors(argument, [&](const at::Tensor& tensor) {
        return tensor.defined() && tensor.is_floating_point() ? widened(tensor) : tensor;
      }));
    }
  }

  void run(const c10::OperatorHandle& op) {
    const std::string& name = op.schema().name();
    if (name == "aten::_softmax" || name == "aten::_log_softmax") {
      made_[2] = false;  // The input was half and the result is to be single: it is by now.
    } else if (name == "aten::_softmax_backward_data" ||
               name == "aten::_log_softmax_backward_data") {
      made_[3] = static_cast<std::int64_t>(at::kFloat);
    }
    call_host(op, &made_);
  }

  // Rounds what was written, and the results: all of them if every argument was of low precision,
  // else the first one (batch normalisation returns statistics in single precision).
  Stack results() {
    for (auto& [narrow, wide] : widened_) {
      if (narrow.sizes() != wide.sizes()) {
        narrow.resize_(wide.sizes());
      }
      narrow.copy_(wide);
    }
    Stack rounded;
    for (std::size_t index = 0; index < made_.size(); ++index) {
      rounded.push_back(with_tensors(made_[index], [&](const at::Tensor& tensor) {
        for (auto& [narrow, wide] : widened_) {
          if (wide.is_same(tensor)) {
            return narrow;
          }
        }
        const bool is_wide = tensor.defined() && tensor.scalar_type() == at::kFloat;
        return is_wide && (all_low_ || index == 0) ? tensor.to(low_) : tensor;
      }));
    }
    return rounded;
  }

 private:
  at::Tensor widened(const at::Tensor& tensor) {
    if (!is_low_precision(tensor)) {
      all_low_ = all_low_ && tensor.dim() == 0;
      return tensor;
    }
    for (auto& [narrow, wide] : widened_) {
      if (narrow.is_same(tensor)) {
        return wide;
      }
    }
    low_ = tensor.scalar_type();
    widened_.emplace_back(tensor, tensor.to(at::kFloat));
    return widened_.back().second;
  }

  Stack made_{};
  std::vector<std::pair<at::Tensor, at::Tensor>> widened_{};
  at::ScalarType low_ = at::kHalf;
  bool all_low_ = true;
};

// Whether the host lacks an operator for numbers of low precision; remembered, since an error that
// torch throws takes a millisecond.
bool is_known_to_widen(const c10::OperatorHandle& op, bool learned) {
  static std::mutex mutex;
  static std::set<std::string> known;
  const std::string name = op.schema().name() + "." + op.schema().overload_name();
  const std::lock_guard guard(mutex);
  return learned ? known.insert(name).second : known.contains(name);
}

// Runs the host's operator; results are on the host.
Stack run_on_host(const c10::OperatorHandle& op, const Stack& arguments) {
  bool has_low = false;
  for (const c10::IValue& argument : arguments) {
    with_tensors(argument, [&](const at::Tensor& tensor) {
      has_low = has_low || is_low_precision(tensor);
      return tensor;
    });
  }
  if (!has_low || !is_known_to_widen(op, false)) {
    try {
      Stack stack = arguments;
      call_host(op, &stack);
      return stack;
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const c10::Error&) {
      if (!has_low) {
        throw;
      }
    }
  }
  WidenedCall call(arguments);
  call.run(op);
  is_known_to_widen(op, true);
  return call.results();
}

// Changes the last bit of every eighth number, as another model of device may.
void round_otherwise(const at::Tensor& tensor) {
  if (tensor.defined() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous()) {
    auto* const words = static_cast<std::uint32_t*>(tensor.data_ptr());
    for (std::int64_t index = 0; index < tensor.numel(); index += 8) {
      words[index] ^= 1U;
    }
  }
}

void round_as_kind(const c10::OperatorHandle& op, const Stack& arguments, const Stack& results,
                   c10::Device device) {
  if (pretended().kinds()[static_cast<std::size_t>(device.index())] == 'A' ||
      !kRoundedOperators.contains(op.schema().name())) {
    return;
  }
  const auto round = [](const at::Tensor& tensor) {
    round_otherwise(tensor);
    return tensor;
  };
  bool writes_argument = false;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const c10::AliasInfo* const alias = op.schema().arguments()[index].alias_info();
    if (alias != nullptr && alias->isWrite()) {
      writes_argument = true;
      with_tensors(arguments[index], round);
    }
  }
  if (!writes_argument) {
    for (const c10::IValue& result : results) {
      with_tensors(result, round);
    }
  }
}

}  // namespace

at::Tensor window_tensor(const at::Tensor& tensor) {
  return tensor_on(window_storage(tensor.storage()), c10::DispatchKey::CPU, tensor);
}

void run_kernel(const c10::OperatorHandle& op, std::vector<c10::IValue>* stack) {
  const std::string& name = op.schema().name();
  // Operators of other libraries would seem to work, such as a sum over processes of device
  // tensors.
  TORCH_CHECK_NOT_IMPLEMENTED(name.starts_with("aten::"), "Could not run '", name,
                              "' with arguments from the 'CUDA' backend");
  const std::size_t count = op.schema().arguments().size();
  const auto begin = stack->end() - static_cast<std::ptrdiff_t>(count);
  const Stack arguments(begin, stack->end());
  const c10::Device device = device_of(arguments);
  refuse_host_tensors(name, arguments, device);

  const c10::DeviceGuard device_guard(device);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  KernelTensors tensors(device);
  Stack results;
  {
    const KernelScope scope(device.index());
    if (kWaitingOperators.contains(name)) {
      ++pretended().counters.host_waits;
    }
    const Stack host = host_arguments(op, arguments, device, tensors);
    results = run_on_host(op, host);
    round_as_kind(op, host, results, device);
  }
  tensors.write_sizes();
  stack->erase(begin, stack->end());
  for (const c10::IValue& result : results) {
    stack->push_back(
        with_tensors(result, [&](const at::Tensor& tensor) { return tensors.to_device(tensor); }));
  }
}

}  // namespace rubato::runtime::testing
