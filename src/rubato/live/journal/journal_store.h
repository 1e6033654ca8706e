// The controller's memory on disk: what is not in here did not happen, what is in here survives a
// loss of power. One process writes it, from one thread; others read through JournalHistory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/base/time.h"
#include "rubato/live/controller/controller_options.h"
#include "rubato/live/journal/journal_history.h"
#include "rubato/live/journal/journal_item.h"
#include "rubato/live/journal/owner_lock.h"
#include "rubato/live/journal/sqlite.h"

namespace rubato {

/// The right to append to one journal. Inputs are never deleted: they are the history.
class JournalStore {
 public:
  static constexpr int kCheckpointsKept = 2;

  /// Makes the file with `options` if there is none; its folder must be there. Fails, naming the
  /// process, if another one has the journal open.
  [[nodiscard]] static Result<JournalStore> open(const std::string& path,
                                                 const ControllerOptions& options);

  /// Those the journal was begun with, whatever open() was called with.
  [[nodiscard]] const ControllerOptions& options() const { return history_.options(); }
  /// For reading from any thread, as long as the store lives.
  [[nodiscard]] const JournalHistory& history() const { return history_; }

  /// Zero while there is none, and the epoch.
  [[nodiscard]] std::uint64_t last_sequence() const { return last_sequence_; }
  [[nodiscard]] std::uint64_t last_event() const { return last_event_; }
  [[nodiscard]] Instant last_instant() const { return last_instant_; }

  /// Numbers the inputs and events, and writes all of them in one transaction; when it returns
  /// well they are on disk. Instants must not go back. Text that is not UTF-8 could not be read
  /// again and is repaired, in the batch too; for a replay like the original, repair_text() comes
  /// before the controller sees an input.
  ///
  /// After an error nothing of the batch is there, and the same call may be made again, for
  /// example when a full disk has room again. If the disk failed otherwise, a crash before the next
  /// append that goes well may still bring back the batch, but then all of it.
  [[nodiscard]] Status append(std::span<JournalItem> batch);

  /// The controller's state after all inputs appended so far. Older ones but the one before go.
  [[nodiscard]] Status add_checkpoint(std::string_view bytes);

 private:
  struct Writer {
    SqliteDatabase database{};
    SqliteStatement input{};
    SqliteStatement event{};
    SqliteStatement key{};
    SqliteStatement checkpoint{};
    SqliteStatement prune{};
  };

  JournalStore(OwnerLock lock, Writer writer, JournalHistory history)
      : lock_(std::move(lock)), writer_(std::move(writer)), history_(std::move(history)) {}
  [[nodiscard]] static Result<Writer> open_writer(const std::string& path,
                                                  const ControllerOptions& options);
  [[nodiscard]] Status find_last();
  [[nodiscard]] Status insert(JournalItem& entry, std::uint64_t& last_event);

  OwnerLock lock_;  // First, so that it is given back last.
  Writer writer_;
  JournalHistory history_;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t last_event_ = 0;
  Instant last_instant_{};
};

}  // namespace rubato
