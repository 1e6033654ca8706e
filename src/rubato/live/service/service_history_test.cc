#include <filesystem>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/live/service/service.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

const Caller kOperator{.user = "root", .role = Role::Admin};
const Caller kStranger{.user = "udo", .tenant = "blue", .role = Role::User};

template <typename T>
T told(const Answered<T>& answered) {
  const auto* refusal = std::get_if<Refusal>(&answered);
  EXPECT_EQ(refusal, nullptr) << refusal->message;
  return std::get<T>(answered);
}

/// A service with one node of four slots and a job of tenant red.
class ServiceHistoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "rubato-history-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    ServiceOptions options{.state_directory = folder_};
    options.controller.nodes = {{.name = "n0", .agent = "a", .slots = 4}};
    options.what_if = [this](const LivePosition& position, const wire::WhatIfRequest&) {
      ++plays_;
      wire::WhatIfReply reply;
      for (const Job& job : position.jobs) {
        wire::WhatIfJob& each = *reply.add_jobs();
        each.set_job(std::to_string(job.id.value));
        each.add_shares_now()->set_workers(3);
      }
      return reply;
    };
    service_ = Service::open(options).value();
    wire::FromAgent hello;
    hello.mutable_hello()->set_agent("a");
    hello.mutable_hello()->add_nodes()->set_name("n0");
    service_->hear("a", hello);
    wire::JobSpec spec;
    spec.set_kind("emulated");
    spec.set_steps(1000);
    spec.set_tenant("red");
    spec.set_deadline("1h");
    wire::SpeedPoint& point = *spec.add_speeds();
    point.set_workers(1);
    point.set_steps_per_second(10);
    job_ = told(service_->submit(kOperator, spec, "")).job().id();
  }
  void TearDown() override {
    service_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string folder_;
  int plays_ = 0;
  std::unique_ptr<Service> service_;
  std::string job_;
};

TEST_F(ServiceHistoryTest, TheOverviewCountsWhatTheCallerMaySee) {
  const auto all = told(service_->overview(kOperator));
  EXPECT_EQ(all.gpus(), 4);
  EXPECT_EQ(all.promises_open(), 1);
  ASSERT_EQ(all.states_size(), 1);
  EXPECT_EQ(all.states(0).jobs(), 1);

  const auto none = told(service_->overview(kStranger));
  EXPECT_EQ(none.promises_open(), 0);
  EXPECT_EQ(none.states_size(), 0);
  EXPECT_EQ(none.gpus(), 4);
}

TEST_F(ServiceHistoryTest, ThePastHasTheJobAfterItsSubmissionAndNotBefore) {
  const auto now = told(service_->past(kOperator, kNever));
  ASSERT_EQ(now.jobs_size(), 1);
  EXPECT_EQ(now.jobs(0).id(), job_);
  EXPECT_FALSE(now.decision().events().empty());

  const Instant before = *from_timestamp(now.jobs(0).submitted()) - std::chrono::microseconds(1);
  EXPECT_EQ(told(service_->past(kOperator, before)).jobs_size(), 0);
  EXPECT_EQ(told(service_->past(kStranger, kNever)).jobs_size(), 0);
}

TEST_F(ServiceHistoryTest, StrangersSeeThatSlotsAreUsedButNotByWhom) {
  auto mine = told(service_->timeline(kOperator, {}));
  for (int i = 0; i < 500 && mine.uses_size() == 0; ++i) {  // The round is held a moment later.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    mine = told(service_->timeline(kOperator, {}));
  }
  ASSERT_GT(mine.uses_size(), 0);
  ASSERT_EQ(mine.jobs_size(), 1);
  EXPECT_TRUE(mine.jobs(0).has_promised());

  EXPECT_EQ(told(service_->timeline(kStranger, {})).jobs_size(), 0);
  const auto decisions = told(service_->decisions(kStranger, {}, 100));
  for (const wire::DecisionRecord& each : decisions.decisions()) {
    EXPECT_EQ(each.commands_size(), 0);
    for (const wire::EventRecord& event : each.events()) {
      EXPECT_EQ(event.job(), "");
    }
  }
  EXPECT_TRUE(std::holds_alternative<Refusal>(service_->job_history(kStranger, job_)));
}

TEST_F(ServiceHistoryTest, AllWhoAskShareOneFuture) {
  const auto first = told(service_->future(kOperator));
  const auto second = told(service_->future(kStranger));

  ASSERT_EQ(first.jobs_size(), 1);
  EXPECT_EQ(first.jobs(0).job(), job_);
  EXPECT_EQ(first.jobs(0).shares(0).workers(), 3);
  EXPECT_EQ(second.jobs_size(), 1);
  EXPECT_LE(plays_, 2) << "one, or two if the machine slept between the questions";
}

TEST_F(ServiceHistoryTest, AJobsHistoryHasItsEventsAndSpeeds) {
  const auto history = told(service_->job_history(kOperator, job_));
  ASSERT_GT(history.events_size(), 0);
  EXPECT_EQ(history.events(0).type(), "job.submitted");
  ASSERT_EQ(history.speeds_size(), 1);
  EXPECT_EQ(history.speeds(0).steps_per_second(), 10);
}

TEST_F(ServiceHistoryTest, JobsThatAreNotOverCanBeListedAlone) {
  EXPECT_EQ(told(service_->jobs(kOperator, {.state = "ACTIVE"})).jobs_size(), 1);
  (void)service_->cancel(kOperator, job_);
  const int left = told(service_->jobs(kOperator, {.state = "ACTIVE"})).jobs_size();
  const auto state = told(service_->job(kOperator, job_)).state();
  EXPECT_EQ(left, state == "CANCELLED" ? 0 : 1);
}

}  // namespace
}  // namespace rubato
