#include "rubato/policy/rounds/pools_fill.h"

#include <algorithm>

namespace rubato::policy::rounds {
namespace {

// The first of the choices that has room; null if none has.
const Gang* first_with_room(const std::vector<Gang>& choices, const std::vector<int>& free) {
  const auto found = std::ranges::find_if(
      choices, [&](const Gang& gang) { return gang.workers <= free[gang.pool.value]; });
  return found == choices.end() ? nullptr : &*found;
}

/// The waiting jobs with the same choices that have not had their turn.
struct Queue {
  const std::vector<Gang>* choices = nullptr;
  std::set<Rank>::const_iterator next{};
  std::set<Rank>::const_iterator end{};
};

// The queue whose first job has the lowest rank; null if all are empty.
Queue* first_of(std::vector<Queue>& queues) {
  Queue* first = nullptr;
  for (Queue& queue : queues) {
    if (queue.next != queue.end && (first == nullptr || *queue.next < *first->next)) {
      first = &queue;
    }
  }
  return first;
}

}  // namespace

void PoolsFill::wait(const Rank& rank, const std::vector<Gang>& choices) {
  if (is_single_) {
    single_.wait(rank, choices.front().workers);
    return;
  }
  erase(rank.job);
  const auto line = waiting_.try_emplace(choices).first;
  line->second.insert(rank);
  entries_[rank.job] = Entry{.rank = rank, .line = &line->first};
}

void PoolsFill::run(const Rank& rank, const Gang& where, const std::vector<Gang>& choices) {
  if (is_single_) {
    single_.run(rank, where.workers);
    return;
  }
  erase(rank.job);
  running_.emplace(rank, Running{.where = where, .choices = choices});
  entries_[rank.job] = Entry{.rank = rank};
}

void PoolsFill::erase(JobId job) {
  single_.erase(job);
  const auto found = entries_.find(job);
  if (found == entries_.end()) {
    return;
  }
  if (const std::vector<Gang>* line = found->second.line) {
    waiting_.at(*line).erase(found->second.rank);
  } else {
    running_.erase(found->second.rank);
  }
  entries_.erase(found);
}

void PoolsFill::clear() { *this = PoolsFill(); }

// GPUs only get fewer on the way, so a queue whose first job finds no room is done.
PoolsFill::Changes PoolsFill::walk(std::span<const int> capacity, std::int64_t lead) const {
  Changes changes;
  std::vector<int> free(capacity.begin(), capacity.end());
  std::vector<Queue> queues;
  for (const auto& [choices, line] : waiting_) {
    queues.push_back({.choices = &choices, .next = line.begin(), .end = line.end()});
  }
  auto runs = running_.begin();
  while (true) {
    Queue* queue = first_of(queues);
    Rank rank = runs != running_.end() ? runs->first : Rank{};
    rank.value -= lead;
    if (runs != running_.end() && (queue == nullptr || rank < *queue->next)) {
      const auto& [where, choices] = runs->second;
      const bool stays = where.workers <= free[where.pool.value];
      const Gang* seat = stays ? &where : first_with_room(choices, free);
      if (seat == nullptr) {
        changes.stops.push_back(rank.job);
      } else {
        free[seat->pool.value] -= seat->workers;
      }
      if (seat != nullptr && !stays) {
        changes.moves.push_back({.job = rank.job, .where = *seat});
      }
      ++runs;
    } else if (queue != nullptr) {
      if (const Gang* seat = first_with_room(*queue->choices, free)) {
        free[seat->pool.value] -= seat->workers;
        changes.starts.push_back({.job = queue->next->job, .where = *seat});
        ++queue->next;
      } else {
        queue->next = queue->end;
      }
    } else {
      return changes;
    }
  }
}

PoolsFill::Changes PoolsFill::fill(std::span<const int> capacity, std::int64_t lead) const {
  if (!is_single_) {
    return walk(capacity, lead);
  }
  const PriorityFill::Changes found = single_.fill(capacity.front(), lead);
  Changes changes{.stops = found.stops};
  for (const JobId job : found.starts) {
    changes.starts.push_back({.job = job, .where = {PoolId{0}, single_.workers(job)}});
  }
  return changes;
}

std::vector<Rank> PoolsFill::running() const {
  std::vector<Rank> ranks;
  for (const auto& [rank, workers] : single_.running()) {
    ranks.push_back(rank);
  }
  for (const auto& [rank, running] : running_) {
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace rubato::policy::rounds
