#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rubato/live/service/service.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

const Caller kChief{.user = "root", .role = Role::Admin};
const Caller kRedUser{.user = "ute", .tenant = "red", .role = Role::User};
const Caller kOutsider{.user = "udo", .tenant = "blue", .role = Role::User};

template <typename T>
T answer_of(const Answered<T>& answered) {
  const auto* refusal = std::get_if<Refusal>(&answered);
  EXPECT_EQ(refusal, nullptr) << refusal->message;
  return std::get<T>(answered);
}

template <typename T>
Refusal refusal_of(const Answered<T>& answered) {
  const auto* refusal = std::get_if<Refusal>(&answered);
  EXPECT_NE(refusal, nullptr);
  return refusal == nullptr ? Refusal{} : *refusal;
}

/// One job of tenant red, with a promise, and one of blue, on one node of four slots. Whoever plays
/// says that all would end an hour later.
class ServiceWhatIfTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "rubato-what-if-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    ServiceOptions options{.state_directory = folder_};
    options.controller.nodes = {{.name = "n0", .agent = "a", .slots = 4}};
    options.what_if = [this](const LivePosition& position, const wire::WhatIfRequest& request) {
      position_ = position;
      request_ = request;
      wire::WhatIfReply reply;
      for (const Job& job : position.jobs) {
        wire::WhatIfJob& each = *reply.add_jobs();
        each.set_job(std::to_string(job.id.value));
        each.set_name(job.name);
        *each.mutable_finish_now() = *to_timestamp(position.now);
        *each.mutable_finish_then() = *to_timestamp(position.now + std::chrono::hours(1));
      }
      return reply;
    };
    service_ = Service::open(options).value();
    wire::FromAgent hello;
    hello.mutable_hello()->set_agent("a");
    hello.mutable_hello()->add_nodes()->set_name("n0");
    service_->hear("a", hello);
    red_ = submitted("red", "1h");
    blue_ = submitted("blue", "");
  }
  void TearDown() override {
    service_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string submitted(const std::string& tenant, const std::string& deadline) {
    wire::JobSpec spec;
    spec.set_name("secret of " + tenant);
    spec.set_kind("emulated");
    spec.set_steps(1000);
    spec.set_tenant(tenant);
    spec.set_deadline(deadline);
    wire::SpeedPoint& point = *spec.add_speeds();
    point.set_workers(1);
    point.set_steps_per_second(10);
    return answer_of(service_->submit(kChief, spec, "")).job().id();
  }

  [[nodiscard]] static wire::WhatIfRequest scaled(const std::string& job, int min, int max) {
    wire::WhatIfRequest request;
    request.mutable_scale()->set_job(job);
    request.mutable_scale()->mutable_workers()->set_min(min);
    request.mutable_scale()->mutable_workers()->set_max(max);
    return request;
  }

  std::string folder_;
  LivePosition position_;
  wire::WhatIfRequest request_;
  std::unique_ptr<Service> service_;
  std::string red_;
  std::string blue_;
};

TEST_F(ServiceWhatIfTest, AnOwnerMayAskAndDoesNotLearnWhoElseThereIs) {
  const auto reply = answer_of(service_->what_if(kRedUser, scaled(red_, 1, 2)));

  ASSERT_EQ(reply.jobs_size(), 1);
  EXPECT_EQ(reply.jobs(0).job(), red_);
  EXPECT_EQ(reply.hidden_later(), 1);
  EXPECT_EQ(reply.DebugString().find("secret of blue"), std::string::npos);
  EXPECT_EQ(answer_of(service_->what_if(kChief, scaled(red_, 1, 2))).jobs_size(), 2);
}

TEST_F(ServiceWhatIfTest, WhoeverPlaysIsToldAllJobsAndTheirPromises) {
  (void)answer_of(service_->what_if(kRedUser, scaled(red_, 1, 2)));

  EXPECT_EQ(position_.jobs.size(), 2U);
  const auto status = answer_of(service_->job(kChief, red_));
  ASSERT_EQ(position_.promised.size(), 1U);
  EXPECT_EQ(position_.promised.begin()->second, *from_timestamp(status.promised()));
  EXPECT_EQ(request_.scale().workers().max(), 2);
}

TEST_F(ServiceWhatIfTest, AskingChangesNothing) {
  (void)answer_of(service_->what_if(kRedUser, scaled(red_, 1, 2)));

  EXPECT_FALSE(answer_of(service_->job(kRedUser, red_)).spec().has_workers());
  EXPECT_EQ(answer_of(service_->blame(kRedUser, red_)).DebugString().find("scaled"),
            std::string::npos);
}

TEST_F(ServiceWhatIfTest, AStrangersJobIsNotThere) {
  const Refusal no = refusal_of(service_->what_if(kOutsider, scaled(red_, 1, 2)));

  EXPECT_EQ(no.kind, RefusalKind::NotFound);
  EXPECT_EQ(no.field, "scale.job");
  EXPECT_EQ(no.message, refusal_of(service_->scale(kOutsider, red_, {})).message)
      << "the same words as a scale that is not only asked about";
  EXPECT_TRUE(position_.jobs.empty()) << "nothing was played for him";
}

TEST_F(ServiceWhatIfTest, NodesAndPoliciesStayWithTheAdmin) {
  wire::WhatIfRequest more = scaled(red_, 1, 2);
  more.set_add_gpus(4);
  EXPECT_EQ(refusal_of(service_->what_if(kRedUser, more)).kind, RefusalKind::NotPermitted);
  EXPECT_EQ(refusal_of(service_->what_if(kRedUser, {})).kind, RefusalKind::NotPermitted);
  EXPECT_EQ(answer_of(service_->what_if(kChief, more)).jobs_size(), 2);
}

TEST_F(ServiceWhatIfTest, LimitsThatCannotBeAreRefusedByName) {
  const Refusal no = refusal_of(service_->what_if(kRedUser, scaled(red_, 8, 2)));

  EXPECT_EQ(no.kind, RefusalKind::BadRequest);
  EXPECT_EQ(no.field, "scale.workers");
}

TEST_F(ServiceWhatIfTest, AJobThatIsOverCannotBeScaled) {
  (void)service_->cancel(kChief, red_);

  EXPECT_EQ(refusal_of(service_->what_if(kRedUser, scaled(red_, 1, 2))).kind,
            RefusalKind::Conflict);
}

TEST_F(ServiceWhatIfTest, AScaledJobIsMetLastFromThenOn) {
  (void)answer_of(service_->what_if(kChief, {}));
  EXPECT_EQ(std::to_string(position_.jobs.back().id.value), blue_);

  wire::ScaleRequest request;
  request.mutable_workers()->set_max(1);
  (void)answer_of(service_->scale(kRedUser, red_, request));
  (void)answer_of(service_->what_if(kChief, {}));

  EXPECT_EQ(std::to_string(position_.jobs.back().id.value), red_);
}

}  // namespace
}  // namespace rubato
