// What one process knows of its pretended devices: their number and kinds, memory, streams, what
// was counted, and whether the process may use them at all.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "rubato/runtime/testing/pretend_cuda/memory.h"
#include "rubato/runtime/testing/pretend_cuda/streams.h"

namespace rubato::runtime::testing {

/// What tests count: launched kernels, copies between host and device, and how often the host had
/// to wait for the device.
struct Counters {
  std::atomic<std::int64_t> kernels = 0;
  std::atomic<std::int64_t> copies = 0;
  std::atomic<std::int64_t> host_waits = 0;
};

struct PretendedProcess {
  DeviceMemory memory{};
  PinnedMemory pinned{};
  StreamQueues streams{};
  Counters counters{};
  std::atomic<bool> used = false;         // Has asked for devices; its children may not.
  std::atomic<bool> in_bad_fork = false;  // Was forked from a process that had.
  std::atomic<int> lost_device = -1;      // A device that fell off the bus.

  /// The model of every visible device; see kinds_of_devices.
  const std::vector<char>& kinds();
};

/// The one of this process. It is never destroyed: tensors may outlive everything else.
PretendedProcess& pretended();

/// The devices of the machine are the letters of RUBATO_PRETEND_CUDA_DEVICES, one each ("A" if it
/// is not set); CUDA_VISIBLE_DEVICES chooses among them. Devices of kind B round otherwise than A.
std::vector<char> kinds_of_devices();

/// Why this process may not use the device; empty if it may.
std::string why_unusable(int device);

/// The device and the stream on it that the calling thread works with.
int selected_device();
void select_device(int device);
StreamName selected_stream(int device);
void select_stream(const StreamName& stream);
/// One of a few streams beside the default one, in turn.
StreamName next_stream(int device);

}  // namespace rubato::runtime::testing
