// A Python interpreter that has its modules loaded and forks workers in milliseconds.
//
// Its children are not ours: the kernel tells their status to the zygote alone, which passes it on.
// A child keeps its number until we say that it may be reaped, so signals to its group cannot hit a
// stranger. A child is held at the start of its life until we let it go, so nothing of a script has
// run before we know of it; if the zygote or we die first, the child ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/launch/process/process.h"
#include "rubato/launch/warm/warm_start.h"
#include "rubato/wire/unix_channel.h"

namespace rubato {

/// How to start a zygote.
struct ZygoteSpec {
  ZygoteKey key{};
  Environment environment{};           // Of the first command it is for.
  std::vector<std::string> modules{};  // Loaded before the first fork.
  int guard = -1;
};

/// A worker to be forked.
struct ZygoteRequest {
  std::uint64_t token = 0;  // By which the answer names it.
  ProcessSpec process{};    // `kept`, `input` and `dies_with_parent` have no meaning here.
  std::size_t script = 1;   // Its place in the command.
  std::string cgroup{};     // The path of its cgroup.procs; `process.cgroup` has no meaning.
};

enum class ZygoteWord {
  Ready,
  Unfit,    // It cannot fork, and says why.
  Started,  // Held: say `go`.
  Refused,  // This one must start cold.
  Ended,    // Say `reap`.
  Gone,
};

/// What a zygote says.
struct ZygoteNews {
  ZygoteWord word = ZygoteWord::Gone;
  std::uint64_t token = 0;
  pid_t pid = -1;
  Descriptor pidfd{};
  ExitStatus status{};
  std::string why{};
};

/// Our end of one zygote, which ends with this object; its children then live on.
class Zygote {
 public:
  /// Returns at once; whether it can be used comes as news.
  [[nodiscard]] static Result<Zygote> start(const ZygoteSpec& spec);

  /// Readable when there is news.
  [[nodiscard]] int descriptor() const { return channel_.descriptor(); }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }

  /// One at a time, and only when it is ready: it then reads at once, so we never wait. An error if
  /// the request is too long, or nobody is there.
  [[nodiscard]] Status request(const ZygoteRequest& request);
  /// Lets the newest child run.
  void go();
  /// The number of this child may be given to another process.
  void reap(pid_t pid);
  [[nodiscard]] std::vector<ZygoteNews> receive();
  /// For one that hangs.
  void kill() { process_.kill_and_reap(); }

 private:
  Zygote(Process process, UnixChannel channel)
      : process_(std::move(process)), channel_(std::move(channel)) {}

  Process process_;
  UnixChannel channel_;
};

/// The program that a zygote runs: zygote_server.py.
[[nodiscard]] std::string_view zygote_text();

}  // namespace rubato
