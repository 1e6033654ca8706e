// The memory of pretended devices. A tensor sees addresses of a range that nobody may read or
// write, so that a host that touches them dies as it would with a real device's; the bytes lie at
// the same offset of a second range, the window, which only kernels and copies know. Memory that is
// not in use holds 0xFF everywhere, which is NaN in every floating format.

#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace rubato::runtime::testing {

inline constexpr int kDevicesMax = 8;

/// What a device's memory is used for, in bytes.
struct MemoryUse {
  std::size_t in_use = 0;
  std::size_t peak = 0;
  std::size_t limit = 0;
};

/// Blocks of one range of offsets; the smallest gap that fits is taken.
class BlockList {
 public:
  explicit BlockList(std::size_t bytes);

  /// Offset and size of a block of at least this many bytes; nothing if no gap is large enough.
  std::optional<std::pair<std::size_t, std::size_t>> take(std::size_t bytes);
  /// Returns the size of the block that began at this offset.
  std::size_t give_back(std::size_t offset);

 private:
  void add_gap(std::size_t offset, std::size_t bytes);
  void remove_gap(std::size_t offset, std::size_t bytes);

  std::map<std::size_t, std::size_t> gaps_{};                  // By offset.
  std::set<std::pair<std::size_t, std::size_t>> gap_sizes_{};  // Size, offset.
  std::map<std::size_t, std::size_t> blocks_{};                // By offset.
};

/// All memory of all devices of a process.
class DeviceMemory {
 public:
  DeviceMemory();

  /// An address of this device; nullptr if that would be more than its limit.
  void* allocate(int device, std::size_t bytes);
  void release(void* address);

  [[nodiscard]] bool holds(const void* address) const;
  [[nodiscard]] int device_of(const void* address) const;
  /// Where the bytes of an address are, and back.
  [[nodiscard]] void* window(void* address) const;
  [[nodiscard]] void* address(void* window) const;
  [[nodiscard]] bool is_window(const void* pointer) const;

  MemoryUse use(int device);
  void set_limit(int device, std::size_t bytes);
  void reset_peak(int device);

  /// Around a fork, so that the child never finds the lock taken.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Device {
    BlockList blocks;
    MemoryUse use{};
    std::size_t filled = 0;  // Bytes from the beginning that were ever written.
  };

  [[nodiscard]] std::size_t offset_of(const void* address) const;

  std::byte* addresses_ = nullptr;
  std::byte* window_ = nullptr;
  std::mutex mutex_{};
  std::map<int, Device> devices_{};
};

/// Host memory that copies may use while the host goes on.
class PinnedMemory {
 public:
  PinnedMemory();

  void* allocate(std::size_t bytes);
  void release(void* pointer);
  [[nodiscard]] bool holds(const void* pointer) const;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::byte* begin_ = nullptr;
  std::mutex mutex_{};
  BlockList blocks_;
};

}  // namespace rubato::runtime::testing
