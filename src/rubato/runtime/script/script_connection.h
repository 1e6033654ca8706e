// One connection of a leader to the program that runs its job, with a thread that sends heartbeats,
// takes orders and ends replicas that are too many. The thread never touches Python: a script deep
// in a computation that holds its interpreter's lock still shows that it lives.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/runtime/script/leader_state.h"
#include "rubato/runtime/script/replica_watch.h"
#include "rubato/runtime/script/snapshot_buffers.h"
#include "rubato/wire/script.pb.h"
#include "rubato/wire/unix_channel.h"

namespace rubato::runtime::script {

/// Of script.proto; raised when an old reader would misunderstand.
inline constexpr std::uint32_t kScriptProtocol = 1;

/// How a leader finds the program that runs its job, and how it proves who it is.
struct ScriptAddress {
  std::string socket{};
  std::uint64_t worker = 0;
  std::uint64_t token = 0;
};

/// The connection. The state outlives it.
class ScriptConnection {
 public:
  /// Connects, says hello and waits for the welcome.
  [[nodiscard]] static Result<std::unique_ptr<ScriptConnection>> open(const ScriptAddress& address,
                                                                      LeaderState& state,
                                                                      Duration shrink_grace);
  ~ScriptConnection();

  [[nodiscard]] const wire::script::Welcome& welcome() const { return welcome_; }
  /// Blocks while the other side does not read. That it is gone is noticed by the thread.
  void send(const wire::script::FromScript& message, const std::vector<int>& lent = {});
  /// A heartbeat at once.
  void tell_alive();
  void set_replicas(std::span<const pid_t> pids);
  [[nodiscard]] Status write_snapshot(std::uint64_t step, std::span<const std::byte> state);
  [[nodiscard]] Result<std::optional<std::string>> resume_state() const;

  /// Waits until the script may go on (true) or must leave (false).
  [[nodiscard]] bool wait_resume();
  /// Why the script must leave; empty while it need not.
  [[nodiscard]] std::string exit_reason() const;

  /// All that this connection has open, for whoever looks at the files of this process.
  [[nodiscard]] std::vector<int> descriptors() const;
  /// Of the thread, as the kernel counts.
  [[nodiscard]] pid_t thread_id() const { return thread_id_; }

  /// In a copy of this process, where the thread does not run and the locks may be held for ever:
  /// gives back what can be given back without them. The object must not be used or destroyed
  /// after that.
  void abandon_in_copy();

 private:
  ScriptConnection(UnixChannel channel, LeaderState& state, Duration shrink_grace);

  [[nodiscard]] Status await_welcome();
  void run(const std::stop_token& stop);
  void wait(std::chrono::steady_clock::time_point until);
  [[nodiscard]] bool receive();
  void handle(const wire::script::ToScript& message, std::vector<Descriptor> descriptors);
  void limit_replicas();
  void tell_suspended_again();
  void end_surplus();
  void leave(const std::string& reason);

  UnixChannel channel_;  // Read by the thread alone; written under send_mutex_.
  LeaderState& state_;
  wire::script::Welcome welcome_;
  Descriptor resume_memory_;
  Descriptor wake_;  // Ends the thread's wait.
  std::mutex send_mutex_;
  SnapshotBuffers snapshots_;  // Of the script's thread alone.
  mutable std::mutex mutex_;   // Of all that follows.
  std::condition_variable changed_;
  ReplicaWatch replicas_;
  std::vector<std::uint32_t> free_snapshots_;
  std::string exit_reason_;
  bool is_waiting_ = false;  // In `wait_resume`.
  std::atomic<pid_t> thread_id_ = 0;
  std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace rubato::runtime::script
