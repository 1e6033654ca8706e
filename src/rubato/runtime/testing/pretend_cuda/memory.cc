#include "rubato/runtime/testing/pretend_cuda/memory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

#include "rubato/base/check.h"

namespace rubato::runtime::testing {
namespace {

constexpr std::size_t kGranule = 512;
constexpr std::size_t kDeviceBytes = std::size_t{64} << 30U;
constexpr std::size_t kPinnedBytes = std::size_t{64} << 30U;
constexpr int kUnusedByte = 0xFF;

// A range of addresses. Pages take memory when they are first written.
std::byte* reserve(std::size_t bytes, int protection) {
  void* range =
      mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  RUBATO_CHECK(range != MAP_FAILED);
  madvise(range, bytes, MADV_DONTDUMP);
  return static_cast<std::byte*>(range);
}

std::size_t rounded_up(std::size_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

}  // namespace

BlockList::BlockList(std::size_t bytes) { add_gap(0, bytes); }

void BlockList::add_gap(std::size_t offset, std::size_t bytes) {
  gaps_[offset] = bytes;
  gap_sizes_.insert({bytes, offset});
}

void BlockList::remove_gap(std::size_t offset, std::size_t bytes) {
  gaps_.erase(offset);
  gap_sizes_.erase({bytes, offset});
}

std::optional<std::pair<std::size_t, std::size_t>> BlockList::take(std::size_t bytes) {
  const std::size_t wanted = rounded_up(bytes);
  const auto found = gap_sizes_.lower_bound({wanted, 0});
  if (found == gap_sizes_.end()) {
    return std::nullopt;
  }
  const auto [gap, offset] = *found;
  remove_gap(offset, gap);
  if (gap > wanted) {
    add_gap(offset + wanted, gap - wanted);
  }
  blocks_[offset] = wanted;
  return std::pair{offset, wanted};
}

std::size_t BlockList::give_back(std::size_t offset) {
  const auto block = blocks_.find(offset);
  RUBATO_CHECK(block != blocks_.end());
  const std::size_t bytes = block->second;
  blocks_.erase(block);
  std::size_t begin = offset;
  std::size_t end = offset + bytes;
  const auto after = gaps_.lower_bound(offset);
  if (after != gaps_.end() && after->first == end) {
    end += after->second;
  }
  if (after != gaps_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
    }
  }
  if (begin < offset) {
    remove_gap(begin, offset - begin);
  }
  if (end > offset + bytes) {
    remove_gap(offset + bytes, end - offset - bytes);
  }
  add_gap(begin, end - begin);
  return bytes;
}

DeviceMemory::DeviceMemory()
    : addresses_(reserve(kDeviceBytes * kDevicesMax, PROT_NONE)),
      window_(reserve(kDeviceBytes * kDevicesMax, PROT_READ | PROT_WRITE)) {
  for (int device = 0; device < kDevicesMax; ++device) {
    devices_.emplace(device,
                     Device{.blocks = BlockList(kDeviceBytes), .use = {.limit = kDeviceBytes}});
  }
}

void* DeviceMemory::allocate(int device, std::size_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  const std::lock_guard guard(mutex_);
  Device& owner = devices_.at(device);
  if (owner.use.in_use + rounded_up(bytes) > owner.use.limit) {
    return nullptr;
  }
  const auto block = owner.blocks.take(bytes);
  if (!block) {
    return nullptr;
  }
  const auto [offset, size] = *block;
  const std::size_t start = static_cast<std::size_t>(device) * kDeviceBytes;
  if (offset + size > owner.filled) {
    const std::size_t fresh = std::max(offset, owner.filled);
    std::memset(window_ + start + fresh, kUnusedByte, offset + size - fresh);
    owner.filled = offset + size;
  }
  owner.use.in_use += size;
  owner.use.peak = std::max(owner.use.peak, owner.use.in_use);
  return addresses_ + start + offset;
}

void DeviceMemory::release(void* address) {
  const std::size_t offset = offset_of(address);
  const std::lock_guard guard(mutex_);
  Device& owner = devices_.at(static_cast<int>(offset / kDeviceBytes));
  const std::size_t size = owner.blocks.give_back(offset % kDeviceBytes);
  owner.use.in_use -= size;
  std::memset(window_ + offset, kUnusedByte, size);
}

std::size_t DeviceMemory::offset_of(const void* address) const {
  RUBATO_CHECK(holds(address));
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - addresses_);
}

bool DeviceMemory::holds(const void* address) const {
  return address >= addresses_ && address < addresses_ + kDeviceBytes * kDevicesMax;
}

int DeviceMemory::device_of(const void* address) const {
  return static_cast<int>(offset_of(address) / kDeviceBytes);
}

void* DeviceMemory::window(void* address) const {
  return address == nullptr ? nullptr : window_ + offset_of(address);
}

bool DeviceMemory::is_window(const void* pointer) const {
  return pointer >= window_ && pointer < window_ + kDeviceBytes * kDevicesMax;
}

void* DeviceMemory::address(void* window) const {
  RUBATO_CHECK(is_window(window));
  return addresses_ + (static_cast<std::byte*>(window) - window_);
}

MemoryUse DeviceMemory::use(int device) {
  const std::lock_guard guard(mutex_);
  return devices_.at(device).use;
}

void DeviceMemory::set_limit(int device, std::size_t bytes) {
  const std::lock_guard guard(mutex_);
  devices_.at(device).use.limit = std::min(bytes, kDeviceBytes);
}

void DeviceMemory::reset_peak(int device) {
  const std::lock_guard guard(mutex_);
  MemoryUse& use = devices_.at(device).use;
  use.peak = use.in_use;
}

PinnedMemory::PinnedMemory()
    : begin_(reserve(kPinnedBytes, PROT_READ | PROT_WRITE)), blocks_(kPinnedBytes) {}

void* PinnedMemory::allocate(std::size_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  const std::lock_guard guard(mutex_);
  const auto block = blocks_.take(bytes);
  return block ? begin_ + block->first : nullptr;
}

void PinnedMemory::release(void* pointer) {
  if (pointer != nullptr) {
    const std::lock_guard guard(mutex_);
    blocks_.give_back(static_cast<std::size_t>(static_cast<std::byte*>(pointer) - begin_));
  }
}

bool PinnedMemory::holds(const void* pointer) const {
  return pointer >= begin_ && pointer < begin_ + kPinnedBytes;
}

}  // namespace rubato::runtime::testing
