#include "rubato/launch/snapshot_keeper.h"

#include <cstring>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace rubato {
namespace {

// A second handle to the same memory.
Descriptor duplicate(const Descriptor& descriptor) { return Descriptor(::dup(descriptor.get())); }

// An anonymous file with these bytes.
Result<Descriptor> in_memory(std::span<const std::byte> bytes) {
  Descriptor memory(::memfd_create("rubato-snapshot", MFD_CLOEXEC));
  std::size_t written = 0;
  while (memory.is_open() && written < bytes.size()) {
    const ssize_t some = ::write(memory.get(), &bytes[written], bytes.size() - written);
    if (some <= 0) {
      break;
    }
    written += static_cast<std::size_t>(some);
  }
  if (!memory.is_open() || written < bytes.size()) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("no memory for a snapshot of {} bytes: {}", bytes.size(),
                                        std::strerror(errno))};
  }
  return memory;
}

}  // namespace

SnapshotKeeper::~SnapshotKeeper() {
  flush();
  thread_.request_stop();
}

Result<std::vector<std::string>> SnapshotKeeper::use_directory(const std::string& path) {
  auto directory = SnapshotDirectory::open(path);
  if (!directory) {
    return directory.error();
  }
  auto found = directory->newest();
  if (!found) {
    return found.error();
  }
  if (found->snapshot) {
    auto memory = in_memory(found->snapshot->bytes);
    if (!memory) {
      return memory.error();
    }
    newest_ = SnapshotMemory{.step = found->snapshot->cursor.step,
                             .bytes = found->snapshot->bytes.size(),
                             .memory = std::move(*memory)};
  }
  directory_ = std::move(*directory);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return std::move(found->warnings);
}

void SnapshotKeeper::keep(SnapshotMemory snapshot) {
  {
    const std::scoped_lock lock(mutex_);
    // The last words of a leader may be heard after those of the next one.
    if (newest_ && snapshot.step < newest_->step) {
      freed_.push_back({.worker = snapshot.worker, .slot = snapshot.slot});
      return;
    }
    if (newest_) {
      const FreedSnapshot old{.worker = newest_->worker, .slot = newest_->slot};
      if (is_spilling_ && !outdated_) {
        outdated_ = old;
      } else {
        freed_.push_back(old);
      }
    }
    newest_ = std::move(snapshot);
    is_dirty_ = directory_.has_value();
  }
  changed_.notify_all();
}

std::optional<ResumePoint> SnapshotKeeper::newest() const {
  const std::scoped_lock lock(mutex_);
  if (!newest_) {
    return std::nullopt;
  }
  return ResumePoint{
      .memory = newest_->memory.get(), .bytes = newest_->bytes, .step = newest_->step};
}

std::vector<FreedSnapshot> SnapshotKeeper::take_freed() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(freed_, {});
}

std::vector<std::string> SnapshotKeeper::take_problems() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(problems_, {});
}

void SnapshotKeeper::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !is_dirty_ && !is_spilling_; });
}

Status SnapshotKeeper::spill(const SnapshotMemory& snapshot) {
  void* const mapped =
      ::mmap(nullptr, snapshot.bytes, PROT_READ, MAP_SHARED, snapshot.memory.get(), 0);
  if (mapped == MAP_FAILED) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("cannot map a snapshot: {}", std::strerror(errno))};
  }
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(mapped), snapshot.bytes);
  const auto written = directory_->write(bytes);
  ::munmap(mapped, snapshot.bytes);
  return written ? ok_status() : Status(written.error());
}

void SnapshotKeeper::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return is_dirty_; })) {
    const SnapshotMemory writing{
        .step = newest_->step, .bytes = newest_->bytes, .memory = duplicate(newest_->memory)};
    is_dirty_ = false;
    is_spilling_ = true;
    lock.unlock();
    const Status written = spill(writing);
    lock.lock();
    is_spilling_ = false;
    if (!written) {
      problems_.push_back(written.error().message);
    }
    if (outdated_) {
      freed_.push_back(*std::exchange(outdated_, std::nullopt));
    }
    changed_.notify_all();
  }
}

}  // namespace rubato
