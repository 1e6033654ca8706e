#include "rubato/runtime/group/group_builder.h"

#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "rubato/runtime/group/memory_rendezvous.h"

namespace rubato {
namespace {

/// Worker 1, its builder, and the arenas of others.
class GroupBuilderTest : public testing::Test {
 protected:
  ~GroupBuilderTest() override { inbox_.end(InboxEnd::Exit); }

  static Arena arena() { return std::move(*Arena::create({.parameter_bytes = 8, .floats = 2})); }
  static Descriptor meeting() {
    Descriptor memory(::memfd_create("test-meeting", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(memory.get(), kMeetingBytes), 0);
    return memory;
  }

  // A generation of these workers; the arenas of `handed_over` travel with it.
  GenerationPost post(std::uint64_t number, const std::vector<std::uint64_t>& members,
                      const std::vector<std::uint64_t>& handed_over = {}) {
    GenerationPost made{.number = number, .meeting = meeting()};
    for (const std::uint64_t worker : members) {
      made.members.push_back({.worker = worker, .host = worker < 10 ? "here" : "there"});
    }
    for (const std::uint64_t worker : handed_over) {
      made.arenas.push_back({.worker = worker, .memory = Descriptor(::dup(peer_.descriptor()))});
    }
    return made;
  }

  BuiltGroup next(std::uint64_t newer_than) {
    return std::get<BuiltGroup>(inbox_.wait(newer_than, 0));
  }
  std::string next_failure() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !failure_.empty(); });
    return failure_;
  }

  GroupInbox inbox_;
  MemoryRendezvous rendezvous_;
  Arena peer_ = arena();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string failure_;
  GroupBuilder builder_{{.worker = 1,
                         .arena = std::make_shared<Arena>(arena()),
                         .cpus = 2,
                         .on_failure =
                             [this](std::uint64_t number, const Error& error) {
                               const std::scoped_lock lock(mutex_);
                               failure_ = std::to_string(number) + ": " + error.message;
                               changed_.notify_all();
                             }},
                        inbox_,
                        rendezvous_};
};

TEST_F(GroupBuilderTest, BuildsTheGroupInOrderOfRank) {
  inbox_.publish(post(1, {2, 1}, {2}));

  const BuiltGroup group = next(0);

  ASSERT_NE(group.communicator, nullptr);
  EXPECT_EQ(group.communicator->size(), 2);
  EXPECT_EQ(group.communicator->rank(), 1);
}

TEST_F(GroupBuilderTest, RemembersArenasOfThoseItHasMet) {
  inbox_.publish(post(1, {1, 2}, {2}));
  next(0);
  inbox_.publish(post(2, {1, 2}));

  EXPECT_EQ(next(1).communicator->size(), 2);
}

TEST_F(GroupBuilderTest, ForgetsArenasOfThoseWhoHaveLeft) {
  inbox_.publish(post(1, {1, 2}, {2}));
  next(0);
  inbox_.publish(post(2, {1}));
  next(1);
  inbox_.publish(post(3, {1, 2}));

  EXPECT_EQ(next_failure(), "3: the memory of worker 2 was not handed over");
}

TEST_F(GroupBuilderTest, HasNoGroupForOneWhoIsNoMember) {
  inbox_.publish(post(1, {2}));

  EXPECT_EQ(next(0).communicator, nullptr);
}

TEST_F(GroupBuilderTest, SaysThatThereIsNoWayToAnotherHost) {
  inbox_.publish(post(1, {1, 11}));

  EXPECT_THAT(next_failure(), testing::HasSubstr("several hosts"));
}

TEST_F(GroupBuilderTest, FailsOnMemoryThatIsNoArena) {
  GenerationPost bad = post(1, {1, 2});
  bad.arenas.push_back({.worker = 2, .memory = meeting()});
  inbox_.publish(std::move(bad));

  EXPECT_THAT(next_failure(), testing::StartsWith("1: "));
}

}  // namespace
}  // namespace rubato
