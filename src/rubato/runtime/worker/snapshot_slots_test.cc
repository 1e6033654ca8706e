#include "rubato/runtime/worker/snapshot_slots.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace rubato {
namespace {

Arena arena_of(std::size_t bytes, std::byte value) {
  Arena arena = std::move(*Arena::create({.parameter_bytes = bytes, .floats = 1}));
  std::ranges::fill(arena.parameters(), value);
  return arena;
}

SnapshotState state(std::uint64_t step, std::string rest) {
  return {
      .cursor = {.step = step, .epoch = 2, .position = 3}, .batch = 64, .rest = std::move(rest)};
}

TEST(SnapshotSlots, ReadBackAllThatWasWritten) {
  SnapshotSlots slots;
  const Arena written_from = arena_of(100, std::byte{7});
  Arena read_into = arena_of(100, std::byte{0});

  const auto written = slots.write(state(5, "momentum"), written_from);
  ASSERT_TRUE(written.ok());
  const auto read = read_snapshot(written->memory, written->bytes, read_into);

  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->cursor, (DataCursor{.step = 5, .epoch = 2, .position = 3}));
  EXPECT_EQ(read->batch, 64U);
  EXPECT_EQ(read->rest, "momentum");
  EXPECT_TRUE(std::ranges::equal(read_into.parameters(), written_from.parameters()));
}

TEST(SnapshotSlots, WriteOnlyWhereNobodyReadsAnyMore) {
  SnapshotSlots slots;
  const Arena arena = arena_of(8, std::byte{1});

  const auto first = slots.write(state(1, ""), arena);
  const auto second = slots.write(state(2, ""), arena);
  slots.release(first->slot);
  const auto third = slots.write(state(3, ""), arena);

  EXPECT_NE(first->slot, second->slot);
  EXPECT_EQ(third->slot, first->slot);
  EXPECT_EQ(third->memory, first->memory);
}

TEST(SnapshotSlots, TakeNewMemoryForWhatHasBecomeTooLong) {
  SnapshotSlots slots;
  const Arena arena = arena_of(8, std::byte{1});
  const auto first = slots.write(state(1, ""), arena);
  slots.release(first->slot);

  const auto longer = slots.write(state(2, std::string(10'000, 'x')), arena);

  ASSERT_TRUE(longer.ok());
  EXPECT_NE(longer->slot, first->slot);
}

TEST(SnapshotSlots, IgnoreTheReleaseOfAnUnknownSlot) {
  SnapshotSlots slots;

  slots.release(17);

  EXPECT_TRUE(slots.write(state(1, ""), arena_of(8, std::byte{1})).ok());
}

TEST(SnapshotSlots, RefuseTheSnapshotOfAnotherModel) {
  SnapshotSlots slots;
  const auto written = slots.write(state(1, ""), arena_of(8, std::byte{1}));
  Arena other = arena_of(16, std::byte{9});

  const auto read = read_snapshot(written->memory, written->bytes, other);

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "the snapshot has 8 bytes of parameters, the model 16");
  EXPECT_EQ(other.parameters()[0], std::byte{9}) << "left alone";
}

TEST(SnapshotSlots, RefuseWhatIsCutShort) {
  SnapshotSlots slots;
  const auto written = slots.write(state(1, "rest"), arena_of(8, std::byte{1}));
  Arena arena = arena_of(8, std::byte{0});

  EXPECT_FALSE(read_snapshot(written->memory, written->bytes - 1, arena).ok());
  EXPECT_FALSE(read_snapshot(-1, 100, arena).ok());
}

}  // namespace
}  // namespace rubato
