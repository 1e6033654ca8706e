// Groups over several hosts for tests; the hosts are meetings on this one.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rubato/runtime/group/host_groups.h"
#include "rubato/runtime/shared_memory/shm_crew_test.h"

namespace rubato {

/// The memory of ranks on pretended hosts.
class HostCrew {
 public:
  HostCrew(std::vector<int> hosts, const ArenaLayout& layout) : hosts_(std::move(hosts)) {
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
      arenas_.push_back(std::make_shared<Arena>(*Arena::create(layout)));
    }
  }

  [[nodiscard]] int size() const { return static_cast<int>(hosts_.size()); }
  [[nodiscard]] const std::shared_ptr<Arena>& shared_arena(int rank) const {
    return arenas_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] Arena& arena(int rank) const { return *shared_arena(rank); }

  /// Joins members through shared memory; each set of members has a meeting of its own.
  [[nodiscard]] Result<std::unique_ptr<Communicator>> join_part(const std::string& kind,
                                                                const GroupPart& part) {
    ShmGroup group{.rank = part.rank,
                   .meeting = meeting_of(fmt::format("{} {}", kind, fmt::join(part.members, " "))),
                   .cpus = 1,
                   .note_length = part.note_length};
    for (const int member : part.members) {
      group.arenas.push_back(shared_arena(member));
    }
    return join_shm_group(std::move(group));
  }

  [[nodiscard]] HostGroups groups(int rank) {
    const auto joined_as = [this](const char* kind) {
      return [this, kind](const GroupPart& part) { return join_part(kind, part); };
    };
    return {.rank = rank,
            .hosts = hosts_,
            .arena = shared_arena(rank),
            .join_host = joined_as("host"),
            .join_across = joined_as("across")};
  }

  [[nodiscard]] std::unique_ptr<Communicator> join(int rank) {
    return *join_host_groups(groups(rank));
  }

 private:
  [[nodiscard]] int meeting_of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = meetings_.try_emplace(name);
    if (is_new) {
      found->second = Descriptor{memfd_create("test-meeting", MFD_CLOEXEC)};
      EXPECT_EQ(ftruncate(found->second.get(), static_cast<off_t>(kMeetingBytes)), 0);
    }
    return found->second.get();
  }

  std::vector<int> hosts_;
  std::vector<std::shared_ptr<Arena>> arenas_{};  // Groups share them.
  std::mutex mutex_{};
  std::map<std::string, Descriptor> meetings_{};
};

}  // namespace rubato
