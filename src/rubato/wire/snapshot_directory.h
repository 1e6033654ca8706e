// The snapshots of one job on disk. At any moment, also if the power fails, the last snapshot that
// was reported as written can be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/wire/data_cursor.h"

namespace rubato {

/// A snapshot as it was read from a file; decode_snapshot() of its bytes succeeds.
struct StoredSnapshot {
  std::string path{};
  DataCursor cursor{};
  std::vector<std::byte> bytes{};
};

/// The newest snapshot that is whole, and what was wrong with newer ones.
struct NewestSnapshot {
  std::optional<StoredSnapshot> snapshot{};  // None if there is no good one.
  std::vector<std::string> warnings{};       // One for each file passed over: its name and why.
};

/// Writes and finds snapshots named `snapshot-<number>-step-<step>`. Numbers rise with every write,
/// so that after a return to an older snapshot what is written next is still the newest. One
/// process writes to a directory at a time.
class SnapshotDirectory {
 public:
  /// Makes the directory if need be, and removes what an interrupted write left behind. `keep` is
  /// how many good snapshots stay; at least one.
  [[nodiscard]] static Result<SnapshotDirectory> open(std::string path, std::size_t keep = 2);

  /// Returns the path once the snapshot would survive a power failure; only then are the oldest
  /// removed. If it fails, for instance because the disk is full, all that was there still is.
  /// Bytes that are no snapshot are refused.
  [[nodiscard]] Result<std::string> write(std::span<const std::byte> snapshot);

  /// Reads files until one is good, from the newest on.
  [[nodiscard]] Result<NewestSnapshot> newest();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  enum class Health { Unknown, Good, Bad };
  struct StoredFile {
    std::uint64_t number = 0;
    std::string name{};
    Health health = Health::Unknown;
  };

  SnapshotDirectory(std::string path, std::size_t keep) : path_(std::move(path)), keep_(keep) {}

  [[nodiscard]] Status scan();
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] Result<StoredSnapshot> read(StoredFile& file) const;
  [[nodiscard]] Status write_whole(const std::string& name, std::span<const std::byte> bytes) const;
  void remove_oldest();

  std::string path_;
  std::size_t keep_;
  std::vector<StoredFile> files_{};  // Newest last.
};

}  // namespace rubato
