#include "rubato/launch/job_timeline.h"

#include <fmt/format.h>

namespace rubato {

std::string to_text(const MemoryRecord& memory) {
  constexpr double kMegabyte = 1e6;
  if (memory.worker_bytes == 0) {
    return {};
  }
  std::string text =
      fmt::format("{:.0f} MB per worker", static_cast<double>(memory.worker_bytes) / kMegabyte);
  if (memory.batch > 0) {
    text += fmt::format(
        ", batch of {} {}in {} pieces of {}", memory.batch,
        memory.workers > 1 ? fmt::format("by {} workers, each ", memory.workers) : std::string(),
        memory.pieces, memory.piece_rows);
  }
  return text;
}

}  // namespace rubato
