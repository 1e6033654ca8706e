// Which slots jobs hold, and which they are to hold: the two phases of every change.
//
// The scheduler takes a slot from one job and gives it to another in one breath. Here the second
// job gets it only after the first has said that it let go. A job first gives up all it is to give
// up, if it has to wait for anything: so no two jobs wait for each other.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "rubato/core/ids.h"
#include "rubato/core/placement.h"
#include "rubato/wire/journal.pb.h"

namespace rubato {

/// Slot `index` of a node.
struct SlotRef {
  NodeId node{};
  int index = 0;

  friend auto operator<=>(const SlotRef&, const SlotRef&) = default;
};

using SlotSet = std::set<SlotRef>;

/// Slots of one node are alike: the scheduler says how many, this book says which.
class SlotBook {
 public:
  /// The number of slots of each node.
  explicit SlotBook(std::vector<int> slots)
      : slots_(std::move(slots)), sites_(slots_.size(), 0), lost_(slots_.size(), false) {}

  /// One more node. A job has slots of one site at a time: it leaves the one before it gets any of
  /// another.
  void add_node(int slots, int site);
  void set_site(NodeId node, int site) { sites_.at(node.value) = site; }
  /// Nobody hears of a lost node: jobs do not wait until they have left it.
  void set_lost(NodeId node, bool is_lost) { lost_.at(node.value) = is_lost; }

  /// The job is to have so many slots of these nodes, and no others.
  void want(JobId job, std::span<const NodeShare> nodes);
  /// The slots that the job should be ordered to run on next, if that differs from what it was
  /// ordered last and need not wait; from then on they are the job's.
  [[nodiscard]] std::optional<SlotSet> order(JobId job);
  /// The job says that it holds these and no others.
  void hold(JobId job, const SlotSet& held);
  /// Those of these slots that are nobody's are the job's: it was found on them.
  void claim(JobId job, const SlotSet& found);
  /// The job runs no more; what it wants is kept.
  void release(JobId job);
  /// The job is gone.
  void forget(JobId job);

  [[nodiscard]] std::vector<wire::SavedSeats> save() const;
  void load(const wire::SavedSeats& seats);

  /// Its slots, those it was told to give up and still has among them.
  [[nodiscard]] SlotSet owned(JobId job) const;
  [[nodiscard]] SlotSet ordered(JobId job) const;
  /// How many slots the job is to have.
  [[nodiscard]] int wanted(JobId job) const;
  /// Slots that are not free, in all.
  [[nodiscard]] int held() const { return static_cast<int>(owners_.size()); }
  /// Whose a slot is; nothing if it is free.
  [[nodiscard]] std::optional<JobId> owner(SlotRef slot) const;
  [[nodiscard]] bool is_releasing(SlotRef slot) const;
  /// Jobs that may be waiting for slots, in order of id.
  [[nodiscard]] std::vector<JobId> waiting() const;

 private:
  struct Seats {
    std::map<NodeId, int> wanted{};
    SlotSet owned{};
    SlotSet ordered{};

    [[nodiscard]] bool is_served() const;
  };

  [[nodiscard]] bool is_free(SlotRef slot) const { return !owners_.contains(slot); }
  void note(JobId job, const Seats& seats);
  [[nodiscard]] bool is_to_leave(const Seats& seats) const;

  std::vector<int> slots_;
  std::vector<int> sites_;  // Of each node.
  std::vector<bool> lost_;
  std::map<SlotRef, JobId> owners_;
  std::map<JobId, Seats> jobs_;
  std::set<JobId> unserved_;  // Of jobs_, kept since everyone who settles asks for it.
};

}  // namespace rubato
