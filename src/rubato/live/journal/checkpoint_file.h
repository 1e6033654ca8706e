// The controller's state in a file beside the journal, written by a child process: with many jobs
// that takes longer than people should wait for an answer, and the child has a copy of all memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>

#include "rubato/base/result.h"
#include "rubato/live/journal/journal_item.h"

namespace rubato {

/// On disk, and in place of what was there, when it returns well; never half of it.
[[nodiscard]] Status write_checkpoint_file(const std::string& path,
                                           const JournalCheckpoint& checkpoint);
/// Nothing if there is no such file or it is not whole: that costs time, not history.
[[nodiscard]] std::optional<JournalCheckpoint> read_checkpoint_file(const std::string& path);

/// Writes checkpoints one at a time; used by one thread.
class CheckpointChild {
 public:
  explicit CheckpointChild(std::string path) : path_(std::move(path)) {}
  ~CheckpointChild();
  CheckpointChild(const CheckpointChild&) = delete;
  CheckpointChild& operator=(const CheckpointChild&) = delete;

  /// Whether one is being written.
  [[nodiscard]] bool is_busy();
  /// Begins to write what `save` returns in the child. The child may only compute: locks that other
  /// threads hold now are held there for ever.
  [[nodiscard]] Status begin(std::uint64_t sequence, const std::function<std::string()>& save);

 private:
  std::string path_;
  pid_t child_ = 0;  // Zero: none.
};

}  // namespace rubato
