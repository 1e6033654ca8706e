#include "rubato/runtime/group/memory_rendezvous.h"

#include <thread>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(MemoryRendezvous, HandsOverWhatAnotherThreadSetsLater) {
  MemoryRendezvous rendezvous;
  std::jthread other([&rendezvous] { EXPECT_TRUE(rendezvous.set("a", "1").ok()); });

  const Result<std::string> found = rendezvous.get("a", from_seconds(60));

  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, "1");
}

TEST(MemoryRendezvous, SaysWhichKeyNobodySet) {
  MemoryRendezvous rendezvous;

  const Result<std::string> found = rendezvous.get("absent", Duration{1});

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::NotFound);
  EXPECT_NE(found.error().message.find("absent"), std::string::npos);
}

TEST(MemoryRendezvous, KeepsTheLatestValue) {
  MemoryRendezvous rendezvous;
  EXPECT_TRUE(rendezvous.set("a", "1").ok());
  EXPECT_TRUE(rendezvous.set("a", "2").ok());

  EXPECT_EQ(*rendezvous.get("a", Duration{0}), "2");
}

}  // namespace
}  // namespace rubato
