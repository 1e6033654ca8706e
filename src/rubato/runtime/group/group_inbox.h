// Where the threads of a worker meet: the link puts generations in, the builder makes groups of
// them, and the training thread takes the newest group. Whatever has become pointless is broken
// off.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rubato/runtime/communicator.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// A member of a generation, as published.
struct MemberName {
  std::uint64_t worker = 0;
  std::string host{};
};

/// An arena that came with a generation.
struct ArenaPost {
  std::uint64_t worker = 0;
  Descriptor memory{};
};

/// A generation as it was published to this worker.
struct GenerationPost {
  std::uint64_t number = 0;
  bool is_forced = false;
  std::vector<MemberName> members{};  // By rank.
  Descriptor meeting{};
  std::vector<ArenaPost> arenas{};
  Descriptor snapshot{};  // What to resume from, if no member has come further.
  std::size_t snapshot_bytes = 0;
  std::uint64_t snapshot_step = 0;
};

/// The group of a generation, ready to be entered.
struct BuiltGroup {
  std::uint64_t number = 0;
  bool is_last = false;  // It has no members: what was committed must be in a snapshot.
  // Null: this worker is not a member. Shared with the inbox, which may have to abort it.
  std::shared_ptr<Communicator> communicator{};
  std::shared_ptr<Descriptor> snapshot{};  // Shared so that a built group can be copied.
  std::size_t snapshot_bytes = 0;
  std::uint64_t snapshot_step = 0;
};

/// Why a wait ended without a group.
enum class InboxEnd { Exit, ConductorLost };

/// A monitor; every function may be called from any thread.
class GroupInbox {
 public:
  /// From the link.
  void publish(GenerationPost post);
  void end(InboxEnd end);

  /// From the builder: waits for a generation newer than the last one taken; nothing at the end.
  [[nodiscard]] std::optional<GenerationPost> take();
  void built(BuiltGroup group);

  /// From the training thread: the newest generation's group, once it is newer than a number and a
  /// generation beyond another number was forced.
  [[nodiscard]] std::variant<BuiltGroup, InboxEnd> wait(std::uint64_t newer_than,
                                                        std::uint64_t forced_beyond);
  /// The generation this worker could switch to now; 0 if there is none newer than its own.
  [[nodiscard]] std::uint64_t votable();
  [[nodiscard]] bool has_newer_than(std::uint64_t number);
  [[nodiscard]] bool has_forced_beyond(std::uint64_t number);
  [[nodiscard]] std::optional<InboxEnd> ended();
  /// False if the group is outdated: then it must not be entered.
  [[nodiscard]] bool begin_entering(const BuiltGroup& group);
  /// False if a newer generation was forced meanwhile.
  [[nodiscard]] bool begin_training(const BuiltGroup& group);
  /// The training thread uses no group any more.
  void leave();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<GenerationPost> posted_;  // Not yet taken by the builder.
  std::uint64_t newest_ = 0;
  std::uint64_t newest_forced_ = 0;
  std::optional<BuiltGroup> built_;
  BuiltGroup used_;  // What the training thread is in.
  bool is_entering_ = false;
  std::optional<InboxEnd> end_;
};

}  // namespace rubato
