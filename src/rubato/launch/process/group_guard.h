// Ends groups of processes when we are killed and can end nothing ourselves.
//
// The kernel can tell a child of its parent's death, but not the children of that child: the data
// loaders of a killed launcher's workers would live on. So a tiny shell waits at the other end of a
// socket, is told the number of each group, and when the socket closes because we are gone, kills
// those that are left. A started process tells its own number before it becomes its program, so no
// moment is left in which it is not known.
#pragma once

#include <sys/types.h>

#include "rubato/base/result.h"
#include "rubato/launch/process/process.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// Watches over the groups of one launcher. When this object goes, the guard goes with it, harming
/// none: whoever holds a Process ends it himself.
class GroupGuard {
 public:
  [[nodiscard]] static Result<GroupGuard> start();

  /// For ProcessSpec::guard and the two functions below.
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] pid_t pid() const { return shell_.pid(); }

  /// From now on this group dies with us. Callable between clone and exec. False if there is no
  /// guard any more.
  static bool watch(int guard, pid_t group);
  /// Must be called while the number of the group is still taken.
  static bool forget(int guard, pid_t group);

 private:
  GroupGuard(Descriptor socket, Process shell)
      : socket_(std::move(socket)), shell_(std::move(shell)) {}

  Descriptor socket_;
  Process shell_;
};

}  // namespace rubato
