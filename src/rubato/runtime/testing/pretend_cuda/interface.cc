// What python/tests/pretend_cuda.py calls, with plain numbers for arguments. Streams travel as
// torch packs them into one number.

#include <chrono>
#include <cstdint>
#include <dlfcn.h>
#include <memory>

#include <ATen/core/Generator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Stream.h>

#include "rubato/runtime/testing/pretend_cuda/device.h"
#include "rubato/runtime/testing/pretend_cuda/process.h"

namespace {

using namespace rubato::runtime::testing;  // NOLINT: the functions below are all about it.

/// An event as torch.cuda.Event has it.
struct HostEvent {
  StreamMark mark{};
  std::chrono::steady_clock::time_point recorded{};
};

std::uint64_t packed(const StreamName& stream) {
  const c10::Device device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(stream.device));
  return c10::Stream(c10::Stream::UNSAFE, device, stream.id).pack();
}

StreamName unpacked(std::uint64_t bits) {
  const c10::Stream stream = c10::Stream::unpack(bits);
  return {.device = stream.device_index(), .id = stream.id()};
}

HostEvent& event_at(void* event) { return *static_cast<HostEvent*>(event); }

}  // namespace

extern "C" {

int pretend_cuda_device_count() {
  pretended().used = true;
  return static_cast<int>(pretended().kinds().size());
}

int pretend_cuda_kind(int device) {
  return pretended().kinds().at(static_cast<std::size_t>(device));
}

int pretend_cuda_in_bad_fork() { return pretended().in_bad_fork ? 1 : 0; }

int pretend_cuda_device() { return selected_device(); }

// Returns 0 if there is no such device, or none for this process.
int pretend_cuda_set_device(int device) {
  if (!why_unusable(device).empty()) {
    return 0;
  }
  select_device(device);
  return 1;
}

std::uint64_t pretend_cuda_stream(int device) { return packed(selected_stream(device)); }

std::uint64_t pretend_cuda_default_stream(int device) { return packed({.device = device}); }

std::uint64_t pretend_cuda_new_stream(int device) { return packed(next_stream(device)); }

void pretend_cuda_set_stream(std::uint64_t stream) { select_stream(unpacked(stream)); }

int pretend_cuda_stream_is_done(std::uint64_t stream) {
  StreamQueues& streams = pretended().streams;
  return streams.is_reached(streams.mark(unpacked(stream))) ? 1 : 0;
}

void pretend_cuda_finish_stream(std::uint64_t stream) {
  ++pretended().counters.host_waits;
  pretended().streams.finish(unpacked(stream));
}

void pretend_cuda_finish_device(int device) {
  ++pretended().counters.host_waits;
  pretended().streams.finish_device(device);
}

void* pretend_cuda_new_event() { return std::make_unique<HostEvent>().release(); }

void pretend_cuda_delete_event(void* event) {
  const std::unique_ptr<HostEvent> owned(static_cast<HostEvent*>(event));
}

void pretend_cuda_record_event(void* event, std::uint64_t stream) {
  event_at(event) = {.mark = pretended().streams.mark(unpacked(stream)),
                     .recorded = std::chrono::steady_clock::now()};
}

void pretend_cuda_wait_event(void* event, std::uint64_t stream) {
  pretended().streams.wait(unpacked(stream), event_at(event).mark);
}

int pretend_cuda_event_is_done(void* event) {
  return pretended().streams.is_reached(event_at(event).mark) ? 1 : 0;
}

void pretend_cuda_finish_event(void* event) {
  ++pretended().counters.host_waits;
  pretended().streams.reach(event_at(event).mark);
}

double pretend_cuda_milliseconds(void* from, void* to) {
  return std::chrono::duration<double, std::milli>(event_at(to).recorded - event_at(from).recorded)
      .count();
}

void pretend_cuda_set_late(int late) { pretended().streams.set_late(late != 0); }

// Kernels, copies, waits of the host.
void pretend_cuda_counters(std::int64_t* three) {
  const Counters& counters = pretended().counters;
  three[0] = counters.kernels;
  three[1] = counters.copies;
  three[2] = counters.host_waits;
}

// Bytes in use, their peak, their limit.
void pretend_cuda_memory(int device, std::uint64_t* three) {
  const MemoryUse use = pretended().memory.use(device);
  three[0] = use.in_use;
  three[1] = use.peak;
  three[2] = use.limit;
}

void pretend_cuda_set_limit(int device, std::uint64_t bytes) {
  pretended().memory.set_limit(device, bytes);
}

void pretend_cuda_reset_peak(int device) { pretended().memory.reset_peak(device); }

// From now on every use of the device fails, as after a fault of the hardware.
void pretend_cuda_lose_device(int device) { pretended().lost_device = device; }

void* pretend_cuda_pinned_allocator() {
  return at::detail::getCUDAHooks().getPinnedMemoryAllocator();
}

// A torch.Generator, by torch's own function, which this library is not linked with since programs
// without Python use it too. Call it with the interpreter's lock taken.
void* pretend_cuda_generator(int device, int is_default) {
  void* const library = dlopen("libtorch_python.so.1.13", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return nullptr;
  }
  using Wrap = void* (*)(at::Generator);
  const auto wrap =
      reinterpret_cast<Wrap>(dlsym(library, "_Z17THPGenerator_WrapN2at9GeneratorE"));  // NOLINT
  dlclose(library);
  return wrap(is_default != 0 ? at::detail::getCUDAHooks().getDefaultCUDAGenerator(
                                    static_cast<c10::DeviceIndex>(device))
                              : new_generator(device));
}

}  // extern "C"
