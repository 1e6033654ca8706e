// The plans of a policy that decides ahead: who has which workers when, and what is still free.
//
// Plans stand in calendars, one per pool, whose sites are its nodes or the pool as a whole. The
// book knows which nodes are down; what their loss leaves uncovered it hands back to be planned
// anew.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rubato/core/event.h"
#include "rubato/core/plan.h"
#include "rubato/core/topology.h"
#include "rubato/policy/planning/use_calendar.h"
#include "rubato/policy/saved_state.h"
#include "rubato/policy/view.h"

namespace rubato::policy::planning {

/// What a site of a calendar is.
enum class SiteKind { Pools, Nodes };

struct BookedSegment {
  TimeWindow window{};
  int workers = 0;
  std::vector<NodeShare> nodes{};  // Empty where sites are pools.
};

/// Segments in rising order, without overlap.
struct BookedPlan {
  PoolId pool{};
  std::vector<BookedSegment> segments{};

  [[nodiscard]] Instant finish() const { return segments.back().window.to; }
  /// Null if it has no workers at this moment.
  [[nodiscard]] const BookedSegment* at(Instant moment) const;
  [[nodiscard]] Plan plan() const;
};

/// No plan is empty; the future of all of them together is never over capacity.
class PlanBook {
 public:
  explicit PlanBook(SiteKind kind) : kind_(kind) {}

  /// Must be called before everything else of an event: makes the calendars, forgets the past.
  void open(const View& view);

  [[nodiscard]] UseCalendar& calendar(PoolId pool) { return calendars_[pool.value]; }
  [[nodiscard]] const UseCalendar& calendar(PoolId pool) const { return calendars_[pool.value]; }
  /// The node behind a site.
  [[nodiscard]] NodeId node(PoolId pool, std::size_t site) const {
    return nodes_[pool.value][site];
  }

  [[nodiscard]] const BookedPlan* find(JobId job) const;
  [[nodiscard]] const std::map<JobId, BookedPlan>& plans() const { return plans_; }

  /// Replaces the job's plan; there must be room.
  void set(JobId job, BookedPlan plan, Instant now);
  void drop(JobId job, Instant now);
  /// Lets the last segment of a plan last until `to`; false, and nothing changes, without room.
  [[nodiscard]] bool extend(JobId job, Instant to, Instant now);

  /// Takes plans out until what is up suffices for the rest: first of those without workers now,
  /// then the newest. Returns whose, in id order.
  [[nodiscard]] std::vector<JobId> change_node(const NodeChange& change, const View& view);

  /// Jobs whose plans changed since the last call, in id order.
  [[nodiscard]] std::set<JobId> take_changed();

  /// The first moment after this one at which a plan changes; kNever if none does.
  [[nodiscard]] Instant next_edge(Instant after) const;

  void save(std::string& state) const;
  /// True if the line was one of save().
  [[nodiscard]] bool restore(const SavedLine& line);
  void clear();

 private:
  void build(const View& view);
  [[nodiscard]] int site_capacity(const Node& node) const;
  template <typename Visit>
  void for_each_use(const BookedPlan& plan, Instant now, Visit visit) const;
  [[nodiscard]] bool is_uncovered(const BookedPlan& plan, Instant now) const;

  SiteKind kind_;
  std::map<JobId, BookedPlan> plans_;
  std::set<NodeId> down_;
  std::set<JobId> changed_;  // Within one event.

  // Made anew from the plans after restore().
  bool is_open_ = false;
  std::vector<UseCalendar> calendars_;
  std::vector<std::vector<NodeId>> nodes_;      // [pool][site]
  std::map<NodeId, std::size_t> site_of_node_;  // Within its pool.
};

}  // namespace rubato::policy::planning
