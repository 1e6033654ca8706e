#include "rubato/runtime/shared_memory/arena.h"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "rubato/wire/descriptor.h"

namespace rubato {
namespace {

std::uintptr_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

TEST(Arena, IsSharedWithWhoeverMapsItsDescriptor) {
  const Result<Arena> ours = Arena::create({.parameter_bytes = 100, .floats = 5000, .slots = 3});
  ASSERT_TRUE(ours.ok());
  const Result<Arena> peers = Arena::map(ours->descriptor());
  ASSERT_TRUE(peers.ok()) << peers.error().message;

  ours->parameters()[99] = std::byte{7};
  for (std::size_t slot = 0; slot < 3; ++slot) {
    ours->slot(slot)[4999] = static_cast<float>(slot);
  }

  EXPECT_EQ(peers->descriptor(), -1);
  EXPECT_EQ(peers->layout().parameter_bytes, 100U);
  EXPECT_EQ(peers->layout().floats, 5000U);
  EXPECT_EQ(peers->layout().slots, 3U);
  EXPECT_EQ(peers->parameters()[99], std::byte{7});
  for (std::size_t slot = 0; slot < 3; ++slot) {
    EXPECT_EQ(peers->slot(slot).size(), 5000U);
    EXPECT_EQ(peers->slot(slot)[4999], static_cast<float>(slot));
  }
}

TEST(Arena, StartsEverythingOnAPageAndAllZero) {
  const Result<Arena> arena = Arena::create({.parameter_bytes = 1, .floats = 1, .slots = 2});
  ASSERT_TRUE(arena.ok());

  EXPECT_EQ(address_of(arena->parameters().data()) % 4096, 0U);
  EXPECT_EQ(address_of(arena->slot(0).data()) % 4096, 0U);
  EXPECT_EQ(address_of(arena->slot(1).data()) % 4096, 0U);
  EXPECT_EQ(arena->parameters()[0], std::byte{0});
  EXPECT_EQ(arena->slot(0)[0], 0.0F);
  EXPECT_EQ(fcntl(arena->descriptor(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Arena, SaysWhatItHoldsAndWhere) {
  const Result<Arena> arena = Arena::create({.parameter_bytes = 64, .floats = 16, .slots = 1});
  const Result<Arena> peers = Arena::map(arena->descriptor());
  const auto slot = std::as_bytes(arena->slot(0));
  std::array<std::byte, 8> outside{};

  EXPECT_TRUE(arena->holds(slot));
  EXPECT_FALSE(peers->holds(slot));
  EXPECT_FALSE(arena->holds(outside));
  EXPECT_FALSE(arena->holds({slot.data(), std::size_t{1} << 20U}));
  EXPECT_EQ(address_of(peers->at(arena->offset_of(slot), slot.size()).data()),
            address_of(peers->slot(0).data()));
}

TEST(Arena, HasRoomBehindALoneSlot) {
  const Result<Arena> lone = Arena::create({.parameter_bytes = 8, .floats = 1000, .slots = 1});
  const Result<Arena> two = Arena::create({.parameter_bytes = 8, .floats = 1000, .slots = 2});

  EXPECT_EQ(lone->slot_and_tail().size(), 1000 + kArenaTailFloats);
  EXPECT_TRUE(lone->holds(std::as_bytes(lone->slot_and_tail())));
  EXPECT_EQ(lone->slot_and_tail().data(), lone->slot(0).data());
  EXPECT_EQ(two->slot_and_tail().size(), 1000U);
}

TEST(Arena, MovesWithItsMemory) {
  Result<Arena> first = Arena::create({.parameter_bytes = 8, .floats = 8, .slots = 1});
  Result<Arena> second = Arena::create({.parameter_bytes = 8, .floats = 8, .slots = 1});
  first->slot(0)[0] = 1;
  second->slot(0)[0] = 2;
  const int descriptor = first->descriptor();

  Arena moved = std::move(*first);
  EXPECT_EQ(moved.slot(0)[0], 1.0F);
  EXPECT_EQ(moved.descriptor(), descriptor);
  moved = std::move(*second);
  EXPECT_EQ(moved.slot(0)[0], 2.0F);
}

TEST(Arena, MayBeEmptyButForOneSlot) {
  const Result<Arena> arena = Arena::create({});
  ASSERT_TRUE(arena.ok());

  EXPECT_TRUE(arena->parameters().empty());
  EXPECT_TRUE(arena->slot(0).empty());
}

TEST(Arena, RefusesLayoutsThatCannotBe) {
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();

  EXPECT_FALSE(Arena::create({.slots = 0}).ok());
  EXPECT_FALSE(Arena::create({.parameter_bytes = kHuge}).ok());
  EXPECT_FALSE(Arena::create({.floats = kHuge}).ok());
  EXPECT_FALSE(Arena::create({.floats = kHuge / 1024, .slots = kHuge / 1024}).ok());
}

/// A file with one arena's header, changed at one of its words.
Descriptor with_header_word(std::size_t word, std::uint64_t value) {
  const Result<Arena> arena = Arena::create({.parameter_bytes = 8, .floats = 8, .slots = 2});
  std::array<std::byte, 4 * 4096> bytes{};
  std::memcpy(bytes.data(), arena->at(0, bytes.size()).data(), bytes.size());
  std::memcpy(bytes.data() + word * sizeof(value), &value, sizeof(value));
  Descriptor file{memfd_create("test", MFD_CLOEXEC)};
  EXPECT_EQ(write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return file;
}

TEST(Arena, BelievesNoMemoryThatIsNotAnArena) {
  const Descriptor empty{memfd_create("test", MFD_CLOEXEC)};
  EXPECT_NE(Arena::map(empty.get()).error().message.find("found 0"), std::string::npos);
  EXPECT_FALSE(Arena::map(-1).ok());

  const auto found = [](std::size_t word, std::uint64_t value) {
    return Arena::map(with_header_word(word, value).get());
  };
  EXPECT_TRUE(found(1, 8).ok());
  EXPECT_FALSE(found(0, 1).ok());
  EXPECT_FALSE(found(1, 4097).ok());
  EXPECT_FALSE(found(2, 1025).ok());
  EXPECT_FALSE(found(2, ~std::uint64_t{0}).ok());
  EXPECT_FALSE(found(3, 0).ok());
  EXPECT_FALSE(found(3, 1).ok());
  EXPECT_FALSE(found(3, 3).ok());
  EXPECT_FALSE(found(3, ~std::uint64_t{0}).ok());
}

}  // namespace
}  // namespace rubato
