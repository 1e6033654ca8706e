// What torch asks a device for: memory, streams, random numbers; and how kernels use them.

#pragma once

namespace at {
struct Generator;
}
namespace c10 {
struct Allocator;
}

namespace rubato::runtime::testing {

/// Throws torch's error if this process may not use the device.
void check_usable(int device);

/// While it lives, the thread runs a kernel on the device: all that its stream kept back is done,
/// and what host operators allocate lies in the device's window.
class KernelScope {
 public:
  explicit KernelScope(int device);
  ~KernelScope();
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  int device_before_;
};

/// Takes memory of the calling thread's current device.
c10::Allocator* device_allocator();
/// Releases an address that device_allocator() gave.
void release_address(void* address);

/// The generator that a host operator is to draw from in place of the device's: of the default
/// generator if none is given. Throws if a generator of another device is given.
at::Generator host_generator(int device, const at::Generator* given);
/// A generator of the device beside the default one.
at::Generator new_generator(int device);

}  // namespace rubato::runtime::testing
