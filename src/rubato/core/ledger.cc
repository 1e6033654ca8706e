#include "rubato/core/ledger.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "rubato/base/check.h"

namespace rubato {
namespace {

// The least free count of a chunk's steps.
template <typename Steps>
int least(const Steps& steps) {
  int min = std::numeric_limits<int>::max();
  for (const auto& step : steps) {
    min = std::min(min, step.free);
  }
  return min;
}

}  // namespace

Ledger::Ledger(int capacity) {
  chunks_.push_back(
      Chunk{.steps = {Step{.at = Instant::min(), .free = capacity}}, .min = capacity});
}

std::size_t Ledger::chunk_of(Instant moment) const {
  const auto after = std::ranges::upper_bound(
      chunks_, moment, {}, [](const Chunk& chunk) { return chunk.steps.front().at; });
  return static_cast<std::size_t>(after - chunks_.begin()) - 1;
}

Ledger::Place Ledger::place_of(Instant moment) const {
  const std::size_t chunk = chunk_of(moment);
  const auto& steps = chunks_[chunk].steps;
  const auto after = std::ranges::upper_bound(steps, moment, {}, &Step::at);
  return Place{.chunk = chunk, .step = static_cast<std::size_t>(after - steps.begin()) - 1};
}

int Ledger::free_at(Instant moment) const {
  const Place place = place_of(moment);
  const Chunk& chunk = chunks_[place.chunk];
  return chunk.steps[place.step].free + chunk.added;
}

int Ledger::min_free(Instant from, Instant to) const {
  RUBATO_CHECK(from < to);
  const Place place = place_of(from);
  int min = std::numeric_limits<int>::max();
  for (std::size_t c = place.chunk; c < chunks_.size(); ++c) {
    const Chunk& chunk = chunks_[c];
    std::size_t i = c == place.chunk ? place.step : 0;
    if (chunk.steps[i].at >= to) {
      break;
    }
    if (i == 0 && chunk.steps.back().at < to) {
      min = std::min(min, chunk.min + chunk.added);
      continue;
    }
    for (; i < chunk.steps.size() && chunk.steps[i].at < to; ++i) {
      min = std::min(min, chunk.steps[i].free + chunk.added);
    }
  }
  return min;
}

void Ledger::reserve(Instant from, Instant to, int gpus) {
  RUBATO_CHECK(gpus >= 0);
  if (gpus == 0 || from >= to) {
    return;
  }
  RUBATO_CHECK(min_free(from, to) >= gpus);
  add(from, to, -gpus);
}

void Ledger::release(Instant from, Instant to, int gpus) {
  RUBATO_CHECK(gpus >= 0);
  if (gpus > 0 && from < to) {
    add(from, to, gpus);
  }
}

void Ledger::change_capacity(Instant from, int gpus) {
  if (gpus != 0) {
    add(from, kNever, gpus);
  }
}

void Ledger::add(Instant from, Instant to, int gpus) {
  split_at(from);
  if (to != kNever) {
    split_at(to);
  }
  for (std::size_t c = chunk_of(from); c < chunks_.size(); ++c) {
    Chunk& chunk = chunks_[c];
    if (chunk.steps.front().at >= to) {
      break;
    }
    if (chunk.steps.front().at >= from && chunk.steps.back().at < to) {
      chunk.added += gpus;
    } else {
      add_within(chunk, from, to, gpus);
    }
  }
  join_at(from);
  if (to != kNever) {
    join_at(to);
  }
}

void Ledger::add_within(Chunk& chunk, Instant from, Instant to, int gpus) {
  for (Step& step : chunk.steps) {
    if (step.at >= from && step.at < to) {
      step.free += gpus;
    }
  }
  chunk.min = least(chunk.steps);
}

void Ledger::split_at(Instant moment) {
  const Place place = place_of(moment);
  Chunk& chunk = chunks_[place.chunk];
  if (chunk.steps[place.step].at == moment) {
    return;
  }
  const Step step{.at = moment, .free = chunk.steps[place.step].free};
  chunk.steps.insert(chunk.steps.begin() + static_cast<std::ptrdiff_t>(place.step) + 1, step);
  if (chunk.steps.size() <= kChunkMax) {
    return;
  }
  const auto middle = chunk.steps.begin() + kChunkMax / 2;
  Chunk upper{.steps = {middle, chunk.steps.end()}, .added = chunk.added};
  upper.min = least(upper.steps);
  chunk.steps.erase(middle, chunk.steps.end());
  chunk.min = least(chunk.steps);
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(place.chunk) + 1, std::move(upper));
}

void Ledger::join_at(Instant moment) {
  const Place place = place_of(moment);
  Chunk& chunk = chunks_[place.chunk];
  if (chunk.steps[place.step].at != moment || (place.chunk == 0 && place.step == 0)) {
    return;
  }
  const Chunk& before_chunk = place.step > 0 ? chunk : chunks_[place.chunk - 1];
  const Step& before = place.step > 0 ? chunk.steps[place.step - 1] : before_chunk.steps.back();
  if (before.free + before_chunk.added != chunk.steps[place.step].free + chunk.added) {
    return;
  }
  chunk.steps.erase(chunk.steps.begin() + static_cast<std::ptrdiff_t>(place.step));
  if (chunk.steps.empty()) {
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(place.chunk));
  } else {
    chunk.min = least(chunk.steps);
  }
}

void Ledger::forget_before(Instant moment) {
  const Place place = place_of(moment);
  chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(place.chunk));
  Chunk& chunk = chunks_.front();
  chunk.steps.erase(chunk.steps.begin(),
                    chunk.steps.begin() + static_cast<std::ptrdiff_t>(place.step));
  chunk.steps.front().at = Instant::min();
  chunk.min = least(chunk.steps);
}

Instant Ledger::earliest_fit(Instant from, Duration span, int gpus) const {
  Instant found = kNever;
  for_each_run(from, kNever, gpus, [&](Instant begin, Instant end, int free) {
    if (free >= gpus && (end == kNever || end - begin >= span)) {
      found = begin;
      return false;
    }
    return true;
  });
  return found;
}

std::size_t Ledger::breakpoints() const {
  std::size_t count = 0;
  for (const Chunk& chunk : chunks_) {
    count += chunk.steps.size();
  }
  return count - 1;
}

}  // namespace rubato
