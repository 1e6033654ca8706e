#include "rubato/runtime/split/idle_wait.h"

#include <array>
#include <thread>

#include <gtest/gtest.h>

#include "rubato/runtime/split/row_queue.h"

namespace rubato::runtime::split {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

class IdleWaitTest : public testing::Test {
 protected:
  IdleWaitTest() : mailbox(Mailbox::open(region, 0, 1024).value()) {}

  [[nodiscard]] bool wait(microseconds timeout, std::uint32_t round_declined = 0) {
    const std::array tickets = {
        WorkTicket{.word = rows.ticket(), .round_declined = round_declined}};
    return wait_for_request_or_work(mailbox.requests(), {.timeout = timeout}, tickets);
  }

  SharedRegion region = SharedRegion::create(1 << 20).value();
  Mailbox mailbox;
  RowQueue rows = RowQueue::open(region, 1 << 16).value();
};

TEST_F(IdleWaitTest, EndsInVainIfNothingComes) { EXPECT_FALSE(wait(microseconds(1))); }

TEST_F(IdleWaitTest, EndsWhenARequestComes) {
  const std::array message = {std::byte{1}};
  const std::jthread sender([&] { (void)mailbox.requests().send(message); });

  EXPECT_TRUE(wait(seconds(20)));
}

TEST_F(IdleWaitTest, EndsWhenWorkIsHandedOut) {
  const std::jthread leader([&] {
    EXPECT_TRUE(rows.start(3));
    mailbox.requests().signal().raise();
  });

  EXPECT_TRUE(wait(seconds(20)));
}

TEST_F(IdleWaitTest, PassesByARoundThatThisProcessCanDoNothingFor) {
  ASSERT_TRUE(rows.start(3));

  EXPECT_FALSE(wait(microseconds(1), rows.sequence()));
  EXPECT_TRUE(wait(microseconds(1), rows.sequence() + 1));
}

}  // namespace
}  // namespace rubato::runtime::split
