#include "rubato/runtime/script/snapshot_buffers.h"

#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace rubato::runtime::script {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(SnapshotBuffers, GiveBackWhatWasWritten) {
  SnapshotBuffers buffers;

  const auto written = buffers.write(7, bytes_of("weights"));

  ASSERT_TRUE(written.ok());
  EXPECT_EQ(*read_state(written->memory, written->bytes), "weights");
}

TEST(SnapshotBuffers, KeepAnEmptyState) {
  SnapshotBuffers buffers;

  const auto written = buffers.write(1, {});

  ASSERT_TRUE(written.ok());
  EXPECT_EQ(*read_state(written->memory, written->bytes), "");
}

TEST(SnapshotBuffers, WriteOverMemoryOnlyAfterItWasReleased) {
  SnapshotBuffers buffers;
  const auto first = buffers.write(1, bytes_of("first"));

  const auto second = buffers.write(2, bytes_of("second"));
  buffers.release(first->slot);
  const auto third = buffers.write(3, bytes_of("third"));

  EXPECT_NE(second->slot, first->slot);
  EXPECT_EQ(third->slot, first->slot);
  EXPECT_EQ(*read_state(second->memory, second->bytes), "second");
  EXPECT_EQ(*read_state(third->memory, third->bytes), "third");
}

TEST(SnapshotBuffers, GrowWithTheState) {
  SnapshotBuffers buffers;
  const auto small = buffers.write(1, bytes_of("small"));
  buffers.release(small->slot);

  const std::string large(100'000, 'x');
  const auto written = buffers.write(2, bytes_of(large));

  ASSERT_TRUE(written.ok());
  EXPECT_EQ(*read_state(written->memory, written->bytes), large);
  EXPECT_EQ(buffers.descriptors().size(), 1U) << "the small memory was given back";
}

TEST(SnapshotBuffers, RefuseToReadWhatIsDamaged) {
  SnapshotBuffers buffers;
  const auto written = buffers.write(1, bytes_of("weights"));
  ASSERT_TRUE(written.ok());

  ASSERT_EQ(::pwrite(written->memory, "W", 1, static_cast<off_t>(written->bytes) - 16), 1);

  EXPECT_FALSE(read_state(written->memory, written->bytes).ok());
}

}  // namespace
}  // namespace rubato::runtime::script
