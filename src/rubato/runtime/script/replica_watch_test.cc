#include "rubato/runtime/script/replica_watch.h"

#include <csignal>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace rubato::runtime::script {
namespace {

constexpr auto kGraceOfTests = std::chrono::seconds(1);

/// Replicas that do nothing. Time is what the test says it is.
class ReplicaWatchTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

  pid_t start_replica() {
    const pid_t pid = ::fork();
    if (pid == 0) {
      while (true) {
        ::pause();
      }
    }
    pids_.push_back(pid);
    return pid;
  }
  void start_replicas(int count) {
    for (int i = 0; i < count; ++i) {
      start_replica();
    }
    watch_.set(pids_, begin_);
  }
  static bool runs(pid_t pid) {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == 0;
  }
  // Waits until those that were killed have ended.
  void await_dying() {
    for (const int process : watch_.dying()) {
      pollfd ended{.fd = process, .events = POLLIN, .revents = 0};
      ::poll(&ended, 1, -1);
    }
  }

  ReplicaWatch::Moment begin_{};
  ReplicaWatch watch_{kGraceOfTests};
  std::vector<pid_t> pids_{};
};

TEST_F(ReplicaWatchTest, KillsTheYoungestOfThoseThatAreTooMany) {
  watch_.allow(4, begin_);
  start_replicas(3);

  watch_.allow(2, begin_);
  watch_.enforce(begin_ + kGraceOfTests);
  await_dying();

  EXPECT_TRUE(runs(pids_[0]));
  EXPECT_FALSE(runs(pids_[1]));
  EXPECT_FALSE(runs(pids_[2]));
  EXPECT_TRUE(watch_.collect());
  EXPECT_EQ(watch_.count(), 1);
  EXPECT_FALSE(watch_.deadline().has_value());
}

TEST_F(ReplicaWatchTest, LeavesTheLeaderItsGrace) {
  watch_.allow(2, begin_);
  start_replicas(1);

  watch_.allow(1, begin_);
  watch_.enforce(begin_ + kGraceOfTests - std::chrono::milliseconds(1));

  EXPECT_EQ(watch_.deadline(), begin_ + kGraceOfTests);
  EXPECT_TRUE(watch_.dying().empty());
  EXPECT_TRUE(runs(pids_[0]));
}

TEST_F(ReplicaWatchTest, AGraceThatRunsIsNotBegunAnewByASecondOrder) {
  watch_.allow(4, begin_);
  start_replicas(3);

  watch_.allow(3, begin_);
  watch_.allow(1, begin_ + kGraceOfTests / 2);

  EXPECT_EQ(watch_.deadline(), begin_ + kGraceOfTests);
}

TEST_F(ReplicaWatchTest, SparesReplicasThatAreAllowedAgain) {
  watch_.allow(2, begin_);
  start_replicas(1);
  watch_.allow(1, begin_);

  watch_.allow(2, begin_);
  watch_.enforce(begin_ + 2 * kGraceOfTests);

  EXPECT_TRUE(runs(pids_[0]));
}

TEST_F(ReplicaWatchTest, SeesToReplicasThatAreRegisteredTooLate) {
  watch_.allow(1, begin_);

  start_replicas(1);
  watch_.enforce(begin_ + kGraceOfTests);
  await_dying();

  EXPECT_FALSE(runs(pids_[0]));
}

TEST_F(ReplicaWatchTest, DoesNotCountReplicasThatHaveEnded) {
  const pid_t gone = start_replica();
  ::kill(gone, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(gone), &info, WEXITED | WNOWAIT);

  watch_.set(pids_, begin_);

  EXPECT_EQ(watch_.count(), 0);
}

TEST_F(ReplicaWatchTest, ForgetsThoseThatTheLeaderEndedItself) {
  watch_.allow(3, begin_);
  start_replicas(2);

  watch_.allow(2, begin_);
  watch_.set(std::vector{pids_[0]}, begin_);

  EXPECT_FALSE(watch_.deadline().has_value());
  EXPECT_EQ(watch_.count(), 1);
}

}  // namespace
}  // namespace rubato::runtime::script
