#include "rubato/policy/planning/plan_book.h"

#include <algorithm>
#include <utility>

#include "rubato/base/check.h"

namespace rubato::policy::planning {

const BookedSegment* BookedPlan::at(Instant moment) const {
  for (const BookedSegment& segment : segments) {
    if (segment.window.from <= moment && moment < segment.window.to) {
      return &segment;
    }
  }
  return nullptr;
}

Plan BookedPlan::plan() const {
  Plan made{.pool = pool};
  for (const BookedSegment& segment : segments) {
    made.segments.push_back(
        {.from = segment.window.from, .to = segment.window.to, .workers = segment.workers});
  }
  return made;
}

// Calls visit(site, window, workers) for all that the plan still holds from now on.
template <typename Visit>
void PlanBook::for_each_use(const BookedPlan& plan, Instant now, Visit visit) const {
  for (const BookedSegment& segment : plan.segments) {
    const TimeWindow window{.from = std::max(segment.window.from, now), .to = segment.window.to};
    if (window.from >= window.to) {
      continue;
    }
    if (segment.nodes.empty()) {
      visit(std::size_t{0}, window, segment.workers);
    }
    for (const NodeShare& share : segment.nodes) {
      visit(site_of_node_.at(share.node), window, share.workers);
    }
  }
}

int PlanBook::site_capacity(const Node& node) const {
  return down_.contains(node.id) ? 0 : node.gpus;
}

void PlanBook::build(const View& view) {
  calendars_.clear();
  nodes_.clear();
  site_of_node_.clear();
  for (const Pool& pool : view.topology.pools()) {
    SiteCapacities capacity;
    for (std::size_t site = 0; site < pool.nodes.size(); ++site) {
      site_of_node_[pool.nodes[site]] = site;
      capacity.push_back({site_capacity(view.topology.node(pool.nodes[site]))});
    }
    if (kind_ == SiteKind::Pools) {
      int total = 0;
      for (const std::vector<int>& site : capacity) {
        total += site.front();
      }
      capacity = {{total}};
    }
    calendars_.emplace_back(std::move(capacity));
    nodes_.push_back(pool.nodes);
  }
  for (const auto& entry : plans_) {
    const auto& plan = entry.second;
    for_each_use(plan, view.now, [&](std::size_t site, TimeWindow window, int workers) {
      calendar(plan.pool).reserve(site, 0, window, workers);
    });
  }
  is_open_ = true;
}

void PlanBook::open(const View& view) {
  if (!is_open_) {
    build(view);
  }
  for (UseCalendar& each : calendars_) {
    each.forget_before(view.now);
  }
}

const BookedPlan* PlanBook::find(JobId job) const {
  const auto found = plans_.find(job);
  return found == plans_.end() ? nullptr : &found->second;
}

void PlanBook::set(JobId job, BookedPlan plan, Instant now) {
  RUBATO_CHECK(!plan.segments.empty());
  drop(job, now);
  for_each_use(plan, now, [&](std::size_t site, TimeWindow window, int workers) {
    calendar(plan.pool).reserve(site, 0, window, workers);
  });
  plans_.emplace(job, std::move(plan));
  changed_.insert(job);
}

void PlanBook::drop(JobId job, Instant now) {
  const auto found = plans_.find(job);
  if (found == plans_.end()) {
    return;
  }
  const BookedPlan& plan = found->second;
  for_each_use(plan, now, [&](std::size_t site, TimeWindow window, int workers) {
    calendar(plan.pool).release(site, 0, window, workers);
  });
  plans_.erase(found);
  changed_.insert(job);
}

bool PlanBook::extend(JobId job, Instant to, Instant now) {
  BookedPlan& plan = plans_.at(job);
  BookedSegment more = plan.segments.back();
  more.window = {.from = std::max(more.window.to, now), .to = to};
  const BookedPlan extension{.pool = plan.pool, .segments = {more}};
  bool fits = more.window.from < more.window.to;
  for_each_use(extension, now, [&](std::size_t site, TimeWindow window, int workers) {
    fits = fits && calendar(plan.pool).free(site, 0, window) >= workers;
  });
  if (!fits) {
    return false;
  }
  for_each_use(extension, now, [&](std::size_t site, TimeWindow window, int workers) {
    calendar(plan.pool).reserve(site, 0, window, workers);
  });
  plan.segments.back().window.to = to;
  changed_.insert(job);
  return true;
}

bool PlanBook::is_uncovered(const BookedPlan& plan, Instant now) const {
  bool uncovered = false;
  for_each_use(plan, now, [&](std::size_t site, TimeWindow window, int /*workers*/) {
    uncovered = uncovered || calendar(plan.pool).is_overcommitted(site, 0, window);
  });
  return uncovered;
}

std::vector<JobId> PlanBook::change_node(const NodeChange& change, const View& view) {
  const Node& node = view.topology.node(change.node);
  const int gpus_before = site_capacity(node);
  change.up ? static_cast<void>(down_.erase(node.id)) : static_cast<void>(down_.insert(node.id));
  UseCalendar& changed = calendar(node.pool);
  const std::size_t site = kind_ == SiteKind::Pools ? 0 : site_of_node_.at(node.id);
  changed.set_capacity(site, 0, view.now,
                       changed.capacity(site, 0) + site_capacity(node) - gpus_before);
  std::vector<std::pair<bool, JobId>> order;  // Those with workers come last, the newest first.
  for (const auto& [job, plan] : plans_) {
    if (plan.pool == node.pool) {
      order.emplace_back(view.jobs.at(job).share > 0, job);
    }
  }
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? b.first : a.second > b.second;
  });
  std::vector<JobId> taken;
  for (const auto& [runs, job] : order) {
    if (is_uncovered(plans_.at(job), view.now)) {
      drop(job, view.now);
      taken.push_back(job);
    }
  }
  std::ranges::sort(taken);
  return taken;
}

std::set<JobId> PlanBook::take_changed() { return std::exchange(changed_, {}); }

Instant PlanBook::next_edge(Instant after) const {
  Instant next = kNever;
  for (const auto& [job, plan] : plans_) {
    for (const BookedSegment& segment : plan.segments) {
      if (segment.window.from > after) {
        next = std::min(next, segment.window.from);
        break;
      }
      if (segment.window.to > after) {
        next = std::min(next, segment.window.to);
        break;
      }
    }
  }
  return next;
}

void PlanBook::save(std::string& state) const {
  for (const NodeId node : down_) {
    append_line(state, "down", {static_cast<std::int64_t>(node.value)});
  }
  for (const auto& [job, plan] : plans_) {
    append_line(state, "plan",
                {static_cast<std::int64_t>(job.value), static_cast<std::int64_t>(plan.pool.value)});
    for (const BookedSegment& segment : plan.segments) {
      append_line(state, "segment",
                  {segment.window.from.time_since_epoch().count(),
                   segment.window.to.time_since_epoch().count(), segment.workers});
      for (const NodeShare& share : segment.nodes) {
        append_line(state, "on", {static_cast<std::int64_t>(share.node.value), share.workers});
      }
    }
  }
}

bool PlanBook::restore(const SavedLine& line) {
  const std::vector<std::int64_t>& numbers = line.numbers;
  if (line.word == "down" && numbers.size() == 1) {
    down_.insert(NodeId{static_cast<std::uint64_t>(numbers[0])});
    return true;
  }
  if (line.word == "plan" && numbers.size() == 2) {
    plans_[JobId{static_cast<std::uint64_t>(numbers[0])}].pool =
        PoolId{static_cast<std::uint64_t>(numbers[1])};
    return true;
  }
  if (plans_.empty()) {
    return false;
  }
  // Plans are written in id order: what follows a plan's line belongs to the last one.
  std::vector<BookedSegment>& segments = plans_.rbegin()->second.segments;
  if (line.word == "segment" && numbers.size() == 3) {
    segments.push_back({.window = {Instant{Duration{numbers[0]}}, Instant{Duration{numbers[1]}}},
                        .workers = static_cast<int>(numbers[2])});
    return true;
  }
  if (line.word == "on" && numbers.size() == 2 && !segments.empty()) {
    segments.back().nodes.push_back({.node = NodeId{static_cast<std::uint64_t>(numbers[0])},
                                     .workers = static_cast<int>(numbers[1])});
    return true;
  }
  return false;
}

void PlanBook::clear() {
  plans_.clear();
  changed_.clear();
  down_.clear();
  is_open_ = false;
}

}  // namespace rubato::policy::planning
