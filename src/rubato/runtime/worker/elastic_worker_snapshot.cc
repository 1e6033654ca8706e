// How an elastic worker begins from a snapshot, and writes one.
#include <utility>

#include "rubato/runtime/worker/elastic_worker.h"

namespace rubato {

// Nobody has trained: begins from a snapshot, or from what the program has set up.
Status ElasticWorker::resume(const BuiltGroup& built) {
  if (built.snapshot_bytes > 0) {
    auto state = read_snapshot(built.snapshot->get(), built.snapshot_bytes, *arena_);
    if (!state) {
      return state.error();
    }
    if (Status loaded = state_.load(state->rest); !loaded) {
      return loaded;
    }
    cursor_ = state->cursor;
    setup_.cut.batch = state->batch;
  }
  has_state_ = true;
  return ok_status();
}

Status ElasticWorker::write_snapshot() {
  auto rest = state_.save();
  if (!rest) {
    return rest.error();
  }
  for (const std::uint32_t slot : link_->take_free_snapshots()) {
    snapshots_.release(slot);
  }
  const auto written = snapshots_.write(
      {.cursor = cursor_, .batch = setup_.cut.batch, .rest = std::move(*rest)}, *arena_);
  if (!written) {
    return written.error();
  }
  wire::FromWorker message;
  message.mutable_snapshot_written()->set_slot(written->slot);
  message.mutable_snapshot_written()->set_step(cursor_.step);
  message.mutable_snapshot_written()->set_bytes(written->bytes);
  link_->send(message, {written->memory});
  return ok_status();
}

}  // namespace rubato
