#include "rubato/runtime/testing/pretend_cuda/device.h"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "rubato/runtime/testing/pretend_cuda/process.h"

namespace rubato::runtime::testing {
namespace {

thread_local int kernel_device = -1;

c10::Device device_named(int index) {
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

StreamName name_of(const c10::Stream& stream) {
  return {.device = stream.device_index(), .id = stream.id()};
}

c10::Stream stream_named(const StreamName& name) {
  return c10::Stream(c10::Stream::UNSAFE, device_named(name.device), name.id);
}

// An address of the device, or torch's error that there is no memory left.
void* allocate_address(int device, std::size_t bytes) {
  check_usable(device);
  DeviceMemory& memory = pretended().memory;
  void* const address = memory.allocate(device, bytes);
  if (address == nullptr && bytes > 0) {
    const MemoryUse use = memory.use(device);
    C10_THROW_ERROR(OutOfMemoryError, "CUDA out of memory. Tried to allocate " +
                                          std::to_string(bytes) + " bytes (GPU " +
                                          std::to_string(device) + "; " +
                                          std::to_string(use.limit) + " bytes total capacity; " +
                                          std::to_string(use.in_use) + " bytes already allocated)");
  }
  return address;
}

class AddressAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) const override {
    const int device = selected_device();
    void* const address = allocate_address(device, bytes);
    return {address, address, &release_address, device_named(device)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_address; }
};

void release_pinned(void* pointer) { pretended().pinned.release(pointer); }

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) const override {
    check_usable(selected_device());
    void* const pointer = pretended().pinned.allocate(bytes);
    TORCH_CHECK(pointer != nullptr || bytes == 0, "CUDA error: out of pinned memory");
    return {pointer, pointer, &release_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_pinned; }
};

void release_host(void* pointer) {
  DeviceMemory& memory = pretended().memory;
  if (memory.is_window(pointer)) {
    memory.release(memory.address(pointer));
  } else {
    c10::GetDefaultCPUAllocator()->raw_deallocate(pointer);
  }
}

// Host memory; inside a kernel, memory of the device's window, so that results need no copy.
// Context and pointer are the same, which is what oneDNN's use of raw_allocate asks for.
class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) const override {
    const c10::Device host(c10::DeviceType::CPU);
    if (kernel_device >= 0) {
      void* const window = pretended().memory.window(allocate_address(kernel_device, bytes));
      return {window, window, &release_host, host};
    }
    void* const pointer = c10::GetDefaultCPUAllocator()->raw_allocate(bytes);
    return {pointer, pointer, &release_host, host};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_host; }
};

PinnedAllocator* pinned_allocator() {
  static PinnedAllocator allocator;
  return &allocator;
}

/// The random numbers of a device, which are those that the host would draw from the same seed.
class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(int device)
      : GeneratorImpl(device_named(device), c10::DispatchKeySet(c10::DispatchKey::CUDA)) {}

  void set_current_seed(std::uint64_t seed) override { host_.set_current_seed(seed); }
  std::uint64_t current_seed() const override { return host_.current_seed(); }
  std::uint64_t seed() override { return host_.seed(); }
  void set_state(const c10::TensorImpl& state) override {
    host_.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return host_.unsafeGetGeneratorImpl()->get_state();
  }
  const at::Generator& host() const { return host_; }

 private:
  DeviceGenerator* clone_impl() const override {
    auto* copy = new DeviceGenerator(device().index());
    copy->host_ = host_.clone();
    return copy;
  }

  at::Generator host_ = at::detail::createCPUGenerator();
};

const at::Generator& default_generator(int device) {
  static std::mutex mutex;
  static std::map<int, at::Generator> generators;
  const std::lock_guard guard(mutex);
  const auto found = generators.find(device);
  if (found != generators.end()) {
    return found->second;
  }
  at::Generator& made = generators[device] = at::make_generator<DeviceGenerator>(device);
  made.seed();
  return made;
}

/// An event, as torch's C++ side uses them.
struct GuardEvent {
  StreamMark mark{};
};

class DeviceGuardImpl final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return device_named(selected_device()); }
  void setDevice(c10::Device device) const override {
    if (device.index() != selected_device()) {
      check_usable(device.index());
      select_device(device.index());
    }
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    select_device(device.index());
  }
  c10::Stream getStream(c10::Device device) const noexcept override {
    return stream_named(selected_stream(index_of(device)));
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return stream_named({.device = index_of(device)});
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return stream_named(next_stream(index_of(device)));
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    const c10::Stream before = getStream(stream.device());
    select_stream(name_of(stream));
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(pretended().kinds().size());
  }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (*event == nullptr) {
      *event = std::make_unique<GuardEvent>().release();
    }
    static_cast<GuardEvent*>(*event)->mark = pretended().streams.mark(name_of(stream));
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) {
      pretended().streams.wait(name_of(stream), static_cast<GuardEvent*>(event)->mark);
    }
  }
  bool queryEvent(void* event) const override {
    return event == nullptr ||
           pretended().streams.is_reached(static_cast<GuardEvent*>(event)->mark);
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    const std::unique_ptr<GuardEvent> owned(static_cast<GuardEvent*>(event));
  }
  bool queryStream(const c10::Stream& stream) const override {
    StreamQueues& streams = pretended().streams;
    return streams.is_reached(streams.mark(name_of(stream)));
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    ++pretended().counters.host_waits;
    pretended().streams.finish(name_of(stream));
  }

 private:
  static int index_of(c10::Device device) {
    return device.has_index() ? device.index() : selected_device();
  }
};

/// How torch's host library asks for CUDA.
class CUDAHooks final : public at::CUDAHooksInterface {
 public:
  explicit CUDAHooks(at::CUDAHooksArgs) {}

  void initCUDA() const override { check_usable(selected_device()); }
  const at::Generator& getDefaultCUDAGenerator(c10::DeviceIndex device) const override {
    return default_generator(device < 0 ? selected_device() : device);
  }
  c10::Device getDeviceFromPtr(void* address) const override {
    return device_named(pretended().memory.device_of(address));
  }
  bool isPinnedPtr(void* pointer) const override { return pretended().pinned.holds(pointer); }
  bool hasCUDA() const override { return true; }
  bool hasPrimaryContext(std::int64_t) const override { return pretended().used; }
  std::int64_t current_device() const override { return selected_device(); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
  c10::Allocator* getCUDADeviceAllocator() const override { return device_allocator(); }
  std::string showConfig() const override { return "a pretended CUDA device"; }
  int getNumGPUs() const override { return static_cast<int>(pretended().kinds().size()); }
  void deviceSynchronize(std::int64_t device) const override {
    ++pretended().counters.host_waits;
    pretended().streams.finish_device(static_cast<int>(device));
  }
};

// Torch looks for these when it is loaded, which is why this library must be there before.
C10_REGISTER_GUARD_IMPL(CUDA, DeviceGuardImpl)

const bool allocators_are_set = [] {
  static HostAllocator host;
  c10::SetCPUAllocator(&host, /*priority=*/100);
  c10::SetAllocator(c10::DeviceType::CUDA, device_allocator());
  return true;
}();

}  // namespace

void check_usable(int device) {
  const std::string reason = why_unusable(device);
  TORCH_CHECK(reason.empty(), reason);
}

KernelScope::KernelScope(int device) : device_before_(kernel_device) {
  check_usable(device);
  pretended().streams.finish(selected_stream(device));
  ++pretended().counters.kernels;
  kernel_device = device;
}

KernelScope::~KernelScope() { kernel_device = device_before_; }

void release_address(void* address) {
  if (address != nullptr) {
    pretended().memory.release(address);
  }
}

c10::Allocator* device_allocator() {
  static AddressAllocator allocator;
  return &allocator;
}

at::Generator host_generator(int device, const at::Generator* given) {
  const at::Generator& used = given == nullptr ? default_generator(device) : *given;
  TORCH_CHECK(used.device() == device_named(device), "Expected a '", device_named(device),
              "' generator but found '", used.device(), "'");
  return static_cast<DeviceGenerator*>(used.unsafeGetGeneratorImpl())->host();
}

at::Generator new_generator(int device) { return at::make_generator<DeviceGenerator>(device); }

}  // namespace rubato::runtime::testing

namespace at {
using PretendedHooks = rubato::runtime::testing::CUDAHooks;
C10_REGISTER_TYPED_CLASS(CUDAHooksRegistry, "CUDAHooks", PretendedHooks)
}  // namespace at
