#include "rubato/live/journal/group_commit.h"

namespace rubato {

Status append_until_durable(
    const std::function<Status(std::span<JournalItem>)>& append, std::span<JournalItem> batch,
    const std::function<bool(const Error&, std::chrono::milliseconds)>& wait, RetryPauses pauses) {
  auto pause = pauses.first;
  for (;;) {
    Status status = append(batch);
    if (status.ok() || !wait(status.error(), pause)) {
      return status;
    }
    pause = std::min(pause * 2, pauses.longest);
  }
}

}  // namespace rubato
