// A worker's line to the conductor of its job: a thread that hands generations to the inbox and
// sends heartbeats, so that a worker deep in a computation still shows that it lives.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "rubato/runtime/group/group_inbox.h"
#include "rubato/runtime/group/rendezvous.h"
#include "rubato/runtime/worker/worker_pulse.h"
#include "rubato/wire/unix_channel.h"
#include "rubato/wire/worker.pb.h"

namespace rubato {

/// How a worker finds its conductor, and what it says first.
struct LinkSetup {
  std::string socket{};
  std::uint64_t worker = 0;
  std::uint64_t token = 0;
  std::string host{};
  int arena = -1;  // Lent for the call.
  std::size_t parameter_bytes = 0;
  std::size_t floats = 0;
};

/// The line. The inbox and the pulse outlive it.
class ConductorLink final : public Rendezvous {
 public:
  /// Connects, says hello and waits for the welcome.
  [[nodiscard]] static Result<std::unique_ptr<ConductorLink>> open(const LinkSetup& setup,
                                                                   GroupInbox& inbox,
                                                                   WorkerPulse& pulse);
  ~ConductorLink() override;

  [[nodiscard]] const wire::Welcome& welcome() const { return welcome_; }
  /// Sends a message; a lost conductor is noticed by the thread, not here.
  void send(const wire::FromWorker& message, const std::vector<int>& descriptors = {});
  /// True if the conductor reads: a short message would not have to wait.
  [[nodiscard]] bool has_room() const { return channel_.has_room(); }

  /// Asked for since the last call.
  [[nodiscard]] bool take_snapshot_request() { return wants_snapshot_.exchange(false); }
  /// Memories of snapshots that may be written again.
  [[nodiscard]] std::vector<std::uint32_t> take_free_snapshots();

  [[nodiscard]] Status set(std::string_view key, std::string_view value) override;
  [[nodiscard]] Result<std::string> get(std::string_view key, Duration patience) override;

 private:
  ConductorLink(UnixChannel channel, GroupInbox& inbox, WorkerPulse& pulse);

  [[nodiscard]] Status await_welcome();
  void run(const std::stop_token& stop);
  [[nodiscard]] bool receive();
  void handle(const wire::FromConductor& message, std::vector<Descriptor> descriptors);
  void post(const wire::Generation& generation, std::vector<Descriptor> descriptors);
  void beat();
  void drop();

  UnixChannel channel_;  // Read by the thread alone; written under send_mutex_.
  GroupInbox& inbox_;
  WorkerPulse& pulse_;
  wire::Welcome welcome_;
  Descriptor wake_;  // Ends the thread's wait.
  std::mutex send_mutex_;
  std::atomic<bool> wants_snapshot_ = false;
  std::mutex table_mutex_;
  std::condition_variable table_changed_;
  std::map<std::string, std::string, std::less<>> table_;
  std::vector<std::uint32_t> free_snapshots_;
  bool is_lost_ = false;
  std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace rubato
