#include "rubato/policy/reconstructed/density_queue.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rubato::policy::reconstructed {
namespace {

// The chunk that runs at `now`; null if none can.
Chunk* running(ChunkQueue& queue, Instant now) {
  Chunk* first = nullptr;
  for (Chunk& each : queue) {
    if (each.left > Duration{} && each.ready <= now &&
        (first == nullptr || each.goes_before(*first))) {
      first = &each;
    }
  }
  return first;
}

// When data next arrive after `now`; kNever if all are there.
Instant next_ready(const ChunkQueue& queue, Instant now) {
  Instant next = kNever;
  for (const Chunk& each : queue) {
    next = each.ready > now && each.left > Duration{} ? std::min(next, each.ready) : next;
  }
  return next;
}

}  // namespace

ChunkQueue queue_at(ChunkQueue queue, Instant now, Instant then) {
  while (now < then) {
    Chunk* chunk = running(queue, now);
    Instant until = std::min(then, next_ready(queue, now));
    if (chunk != nullptr) {
      until = std::min(until, later(now, chunk->left));
      chunk->left -= until - now;
    }
    now = until;
  }
  std::erase_if(queue, [](const Chunk& each) { return each.left <= Duration{}; });
  return queue;
}

double joining_cost(const ChunkQueue& queue, const Chunk& chunk, Instant now) {
  double own = to_seconds(chunk.ready - now) + to_seconds(chunk.length);
  double others = 0;
  for (const Chunk& each : queue_at(queue, now, chunk.ready)) {
    if (chunk.goes_before(each)) {
      others += to_seconds(chunk.length) / each.siblings;
    } else {
      own += to_seconds(each.left);
    }
  }
  return own / chunk.siblings + others;
}

std::vector<int> assign_chunks(std::span<ChunkQueue> queues, const Chunk& chunk, Instant now) {
  std::set<std::pair<double, int>> costs;
  for (int i = 0; i < static_cast<int>(queues.size()); ++i) {
    costs.emplace(joining_cost(queues[static_cast<std::size_t>(i)], chunk, now), i);
  }
  std::vector<int> chosen;
  for (int left = costs.empty() ? 0 : chunk.siblings; left > 0; --left) {
    const int best = costs.begin()->second;
    ChunkQueue& queue = queues[static_cast<std::size_t>(best)];
    chosen.push_back(best);
    queue.push_back(chunk);
    costs.erase(costs.begin());
    costs.emplace(joining_cost(queue, chunk, now), best);
  }
  return chosen;
}

}  // namespace rubato::policy::reconstructed
