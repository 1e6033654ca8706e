// A group over TCP, by c10d's gloo: for ranks on different hosts. Needs the part of the runtime
// that is built with libtorch.
#pragma once

#include <memory>
#include <string>

#include "rubato/base/time.h"
#include "rubato/runtime/arena.h"
#include "rubato/runtime/communicator.h"
#include "rubato/runtime/rendezvous.h"

namespace rubato {

/// What a rank needs to join a group over TCP.
struct GlooGroup {
  int rank = 0;
  int size = 1;
  std::string name{};                 // The same on all ranks and never used before.
  std::string address = "127.0.0.1";  // Of the interface to listen on.
  Duration patience{};                // For everyone to connect.
  std::shared_ptr<Arena> arena{};     // Shared with the groups before and after.
};

[[nodiscard]] Result<std::unique_ptr<Communicator>> join_gloo_group(const GlooGroup& group,
                                                                    Rendezvous& rendezvous);

}  // namespace rubato
