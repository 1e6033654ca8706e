#include "rubato/runtime/split/mailbox.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/runtime/split/peer_process_test.h"

namespace rubato::runtime::split {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr WaitTimes kLong{.spin = microseconds(20), .timeout = seconds(60)};
constexpr WaitTimes kSleepy{.spin = microseconds(0), .timeout = seconds(60)};
constexpr WaitTimes kShort{.spin = microseconds(0), .timeout = microseconds(2000)};

Status send(MessageQueue& queue, const std::string& text) {
  return queue.send(std::as_bytes(std::span(text)));
}

/// The next message; "nothing" if none came.
std::string receive(MessageQueue& queue, const WaitTimes& times) {
  if (!queue.wait(times)) {
    return "nothing";
  }
  std::string text(queue.next_size(), ' ');
  queue.take(std::as_writable_bytes(std::span(text)));
  return text;
}

/// A mailbox in memory of its own.
struct MailboxScene {
  SharedRegion region = *SharedRegion::create(1 << 20);
  Mailbox mailbox = *Mailbox::open(region, 64, 1000);
};

TEST(Mailbox, CarriesRequestsAndRepliesOfAllSizes) {
  for (const WaitTimes& times : {kLong, kSleepy}) {
    MailboxScene scene;
    MessageQueue& requests = scene.mailbox.requests();
    MessageQueue& replies = scene.mailbox.replies();
    PeerProcess replica([&] {
      for (std::string text; text != "stop";) {
        text = receive(requests, times);
        if (!send(replies, text + text.substr(0, 1)).ok()) {
          return 1;
        }
      }
      return 0;
    });

    for (std::size_t size = 1; size < 1000; ++size) {
      const std::string text(size, static_cast<char>('a' + size % 26));
      ASSERT_TRUE(send(requests, text).ok());
      ASSERT_EQ(receive(replies, times), text + text[0]);
    }

    ASSERT_TRUE(send(requests, "stop").ok());
    EXPECT_EQ(receive(replies, times), "stops");
    EXPECT_EQ(replica.join(), 0);
  }
}

TEST(Mailbox, KeepsMessagesInOrderUntilTheyAreTaken) {
  MailboxScene scene;
  MessageQueue& requests = scene.mailbox.requests();

  ASSERT_TRUE(send(requests, "one").ok());
  ASSERT_TRUE(send(requests, "").ok());
  ASSERT_TRUE(send(requests, "three").ok());

  EXPECT_EQ(receive(requests, kShort), "one");
  EXPECT_EQ(receive(requests, kShort), "");
  EXPECT_EQ(receive(requests, kShort), "three");
  EXPECT_EQ(receive(requests, kShort), "nothing");
}

TEST(Mailbox, RefusesWhatDoesNotFit) {
  MailboxScene scene;
  MessageQueue& requests = scene.mailbox.requests();

  const Status too_large = send(requests, std::string(2000, 'x'));
  ASSERT_FALSE(too_large.ok());
  EXPECT_EQ(too_large.error().message,
            "the message has 2000 bytes, but the mailbox holds at most 1016");

  EXPECT_TRUE(send(requests, std::string(1000, 'x')).ok());
  EXPECT_FALSE(send(requests, std::string(1000, 'y')).ok()) << "the first was not taken yet";
  EXPECT_EQ(receive(requests, kShort), std::string(1000, 'x'));
  EXPECT_TRUE(send(requests, std::string(1000, 'y')).ok());
  EXPECT_FALSE(Mailbox::open(scene.region, (1 << 20) - 64, 1000).ok());
}

TEST(Mailbox, IsEmptyAfterAReset) {
  MailboxScene scene;
  ASSERT_TRUE(send(scene.mailbox.requests(), "old").ok());
  ASSERT_TRUE(send(scene.mailbox.replies(), "old").ok());

  scene.mailbox.reset();

  EXPECT_EQ(receive(scene.mailbox.requests(), kShort), "nothing");
  EXPECT_EQ(receive(scene.mailbox.replies(), kShort), "nothing");
}

// A replica is killed wherever it happens to be; whatever the leader has received until then is
// whole and in order, and a successor finds a mailbox that works.
TEST(Mailbox, OutlivesReplicasThatAreKilledAtAnyMoment) {
  MailboxScene scene;
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    scene.mailbox.reset();
    const WaitTimes& times = round % 2 == 0 ? kLong : kSleepy;
    PeerProcess replica([&] {
      while (send(scene.mailbox.replies(), receive(scene.mailbox.requests(), times)).ok()) {
      }
      return 1;
    });

    const int messages = static_cast<int>(random() % 20);
    for (int i = 0; i < messages; ++i) {
      ASSERT_TRUE(send(scene.mailbox.requests(), std::to_string(i)).ok());
      ASSERT_EQ(receive(scene.mailbox.replies(), times), std::to_string(i));
    }
    ASSERT_TRUE(send(scene.mailbox.requests(), "last").ok());
    replica.kill();

    const std::string last = receive(scene.mailbox.replies(), kShort);
    ASSERT_TRUE(last == "last" || last == "nothing") << last;
    ASSERT_EQ(receive(scene.mailbox.replies(), kShort), "nothing");
  }
}

}  // namespace
}  // namespace rubato::runtime::split
