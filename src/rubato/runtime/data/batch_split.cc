#include "rubato/runtime/data/batch_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "rubato/base/check.h"

namespace rubato {

Status check_cut(const EpochCut& cut) {
  if (cut.samples == 0) {
    return bad_input("the dataset is empty");
  }
  if (cut.batch == 0) {
    return bad_input("the batch is 0; at least one sample is needed");
  }
  if (cut.drop_last && cut.batch > cut.samples) {
    return bad_input(
        fmt::format("a batch of {} is larger than the dataset of {}, and drop_last "
                    "leaves out whatever is smaller: no step would be left",
                    cut.batch, cut.samples));
  }
  return ok_status();
}

StepRange step_range(const DataCursor& cursor, const EpochCut& cut) {
  RUBATO_CHECK(cut.samples > 0 && cut.batch > 0);
  RUBATO_CHECK(!cut.drop_last || cut.batch <= cut.samples);
  RUBATO_CHECK(cursor.position <= cut.samples);
  const std::uint64_t left = cut.samples - cursor.position;
  // Whether a rest is too small is seen here, not when the step before was committed: the batch may
  // have changed since.
  if (left == 0 || (cut.drop_last && left < cut.batch)) {
    return {.epoch = cursor.epoch + 1, .begin = 0, .end = std::min(cut.batch, cut.samples)};
  }
  return {.epoch = cursor.epoch,
          .begin = cursor.position,
          .end = cursor.position + std::min(cut.batch, left)};
}

DataCursor advance(const DataCursor& cursor, const EpochCut& cut) {
  const StepRange range = step_range(cursor, cut);
  if (range.end == cut.samples) {
    return {.step = cursor.step + 1, .epoch = range.epoch + 1, .position = 0};
  }
  return {.step = cursor.step + 1, .epoch = range.epoch, .position = range.end};
}

// Shares a total in whole numbers: by largest remainder, the first of equals gets more.
void StepSplit::apportion(std::uint64_t total, std::size_t parts, std::span<const double> speeds) {
  parts_.assign(parts, 0);
  const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  if (!(sum > 0) || !std::isfinite(sum)) {
    for (std::size_t i = 0; i < parts; ++i) {
      parts_[i] = total / parts + (i < total % parts ? 1 : 0);
    }
    return;
  }
  remainders_.resize(parts);
  std::uint64_t left = total;
  for (std::size_t i = 0; i < parts; ++i) {
    RUBATO_CHECK(speeds[i] >= 0);
    const double exact = static_cast<double>(total) * (speeds[i] / sum);
    // Rounding must not hand out more than there is.
    parts_[i] = std::min(left, static_cast<std::uint64_t>(exact));
    left -= parts_[i];
    remainders_[i] = {.part = exact - std::floor(exact), .index = i};
  }
  std::ranges::sort(remainders_, [](const Remainder& a, const Remainder& b) {
    return a.part != b.part ? a.part > b.part : a.index < b.index;
  });
  for (std::size_t i = 0; left > 0; i = (i + 1) % parts) {
    ++parts_[remainders_[i].index];
    --left;
  }
}

// Hands contiguous shards to the ranks; parts_ says how many to each.
void StepSplit::place_shards(const SplitRequest& request, std::size_t shards) {
  const auto ranks = static_cast<std::size_t>(request.ranks);
  if (request.shards == 0) {
    parts_.assign(ranks, 1);
  } else {
    apportion(shards, ranks, request.speeds);
  }
  places_.resize(shards);
  first_.resize(ranks + 1);
  slots_ = 1;
  std::size_t next = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    first_[rank] = next;
    for (std::size_t slot = 0; slot < parts_[rank]; ++slot) {
      places_[next++] = {.rank = static_cast<int>(rank), .slot = static_cast<int>(slot)};
    }
    slots_ = std::max<std::size_t>(slots_, parts_[rank]);
  }
  first_[ranks] = next;
  RUBATO_CHECK(next == shards);
}

void StepSplit::split(const StepRange& range, const SplitRequest& request) {
  RUBATO_CHECK(request.ranks >= 1 && request.shards >= 0);
  RUBATO_CHECK(request.speeds.empty() ||
               request.speeds.size() == static_cast<std::size_t>(request.ranks));
  RUBATO_CHECK(range.begin < range.end);
  const auto shards = static_cast<std::size_t>(request.shards > 0 ? request.shards : request.ranks);
  apportion(range.samples(), shards,
            request.shards == 0 ? request.speeds : std::span<const double>{});
  shards_.resize(shards);
  weights_.resize(shards);
  std::uint64_t next = range.begin;
  for (std::size_t i = 0; i < shards; ++i) {
    shards_[i] = {.epoch = range.epoch, .begin = next, .end = next + parts_[i]};
    next += parts_[i];
    weights_[i] =
        static_cast<float>(static_cast<double>(parts_[i]) / static_cast<double>(range.samples()));
  }
  RUBATO_CHECK(next == range.end);
  place_shards(request, shards);
}

std::size_t StepSplit::first_shard(int rank) const {
  RUBATO_CHECK(rank >= 0 && static_cast<std::size_t>(rank) + 1 < first_.size());
  return first_[static_cast<std::size_t>(rank)];
}

std::size_t StepSplit::shard_count(int rank) const {
  const std::size_t first = first_shard(rank);
  return first_[static_cast<std::size_t>(rank) + 1] - first;
}

}  // namespace rubato
