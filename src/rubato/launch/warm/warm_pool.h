// The zygotes of one launcher: which one starts whom, what their children do, and what to do when
// one is missing, unfit, hung or dead. Then workers start cold; none is lost, none started twice.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rubato/launch/process/watch.h"
#include "rubato/launch/warm/zygote.h"

namespace rubato {

struct WarmPoolOptions {
  std::vector<std::string> modules{"torch"};
  /// Longest wait for an answer of a zygote, loading its modules included.
  std::chrono::milliseconds patience{60'000};
  std::size_t zygotes_max = 8;  // Each holds the memory of its modules.
  int guard = -1;               // The descriptor of a GroupGuard.
};

enum class WarmWord { Started, StartCold, Ended, Lost };

/// What became of a worker that was given to the pool.
struct WarmNews {
  WarmWord word = WarmWord::Started;
  std::uint64_t token = 0;
  ExitStatus status{};  // Of one that ended.
  std::string why{};    // It starts cold, or is lost.
};

/// Holds zygotes and the workers that they started. Those end with this object.
class WarmPool {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  explicit WarmPool(WarmPoolOptions options) : options_(std::move(options)) {}
  WarmPool(const WarmPool&) = delete;
  WarmPool& operator=(const WarmPool&) = delete;
  ~WarmPool();

  /// Takes the worker on, unless there is a reason to start it cold, which is returned. Its
  /// descriptors must stay open until news of it has come.
  [[nodiscard]] std::optional<std::string> start(const ZygoteKey& key, ZygoteRequest request,
                                                 Moment now, Watch& watch);
  [[nodiscard]] std::vector<WarmNews> poll(Moment now, Watch& watch);
  /// To the group of a started worker; false if it is not one, or has ended.
  bool signal(std::uint64_t token, int signal);
  /// The process of a started worker.
  [[nodiscard]] std::optional<pid_t> pid(std::uint64_t token) const;
  /// How long until `poll` should be called even if nothing is heard; nothing: for ever.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> alarm(Moment now) const;

 private:
  struct ZygoteSlot {
    std::optional<Zygote> zygote{};
    bool is_ready = false;
    std::deque<ZygoteRequest> waiting{};  // The first may have been asked for.
    bool has_asked = false;
    Moment since{};       // Of the oldest thing that we wait for.
    std::string unfit{};  // Why it is never used again.
    int starts = 0;
  };
  struct ForkedWorker {
    pid_t pid = -1;
    Descriptor pidfd{};
    ZygoteKey key{};
    bool is_orphan = false;
    std::optional<Moment> dead_since{};  // The kernel says so, and nobody has told its status.
  };

  [[nodiscard]] bool make_room();
  void ask(ZygoteSlot& slot, Moment now);
  void hear(const ZygoteKey& key, ZygoteSlot& slot, Moment now, Watch& watch);
  void on_message(const ZygoteKey& key, ZygoteSlot& slot, ZygoteNews news, Watch& watch);
  void on_started(const ZygoteKey& key, ZygoteSlot& slot, ZygoteNews news, Watch& watch);
  void end(std::uint64_t token, WarmNews news);
  void give_up(const ZygoteKey& key, ZygoteSlot& slot, const std::string& why);
  void look_for_dead(Moment now, Watch& watch);
  void settle_orphan(std::uint64_t token, ForkedWorker& forked, Moment now);
  void lose_patience(Moment now);

  WarmPoolOptions options_;
  std::map<ZygoteKey, ZygoteSlot> slots_{};
  std::map<std::uint64_t, ForkedWorker> forked_{};  // By token.
  std::vector<WarmNews> news_{};
};

}  // namespace rubato
