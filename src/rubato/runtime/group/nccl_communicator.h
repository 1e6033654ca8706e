// A group whose gradients lie on GPUs, by NCCL. Tested against a stand-in for NCCL that works on
// host memory; untested on real GPUs: order among streams, speed, and what a real abort does are
// as NCCL documents them, not as seen.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rubato/base/time.h"
#include "rubato/runtime/communicator.h"
#include "rubato/runtime/group/nccl_table.h"
#include "rubato/runtime/group/rendezvous.h"

namespace rubato {

/// What a rank needs to join a group of GPUs.
struct NcclGroup {
  int rank = 0;
  int size = 1;
  std::string name{};         // The same on all ranks and never used before.
  int device = 0;             // Number of our GPU on this host.
  float* gradient = nullptr;  // Our only slot, on the device.
  std::size_t floats = 0;     // Of the slot.
  Duration patience{};        // For rank 0 to show up.
  // Squared length of floats on the device; without it, squares cannot be asked for.
  std::function<Result<double>(const float* values, std::size_t floats)> square{};
};

/// Sums in the order that NCCL chooses, so not for deterministic mode; at most one shard on each
/// rank. Broadcasts take bytes on the device. Whatever else works on the gradient or the bytes must
/// be complete before a call; the call returns when the result is there. abort() ends the calls of
/// this rank; peers that wait for it are told by NCCL. Joining blocks until all ranks have come, as
/// NCCL does.
[[nodiscard]] Result<std::unique_ptr<Communicator>> join_nccl_group(const NcclTable& table,
                                                                    const NcclGroup& group,
                                                                    Rendezvous& rendezvous);

}  // namespace rubato
