#include <cmath>
#include <filesystem>
#include <limits>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/live/service/service.h"

namespace rubato {
namespace {

const Caller kHeadOfAll{.user = "root", .role = Role::Admin};
const Caller kOfRed{.user = "rosa", .tenant = "red", .role = Role::Viewer};
const Caller kOfBlue{.user = "bill", .tenant = "blue", .role = Role::User};

template <typename T>
T said(const Answered<T>& answered) {
  const auto* refusal = std::get_if<Refusal>(&answered);
  EXPECT_EQ(refusal, nullptr) << refusal->message;
  return std::get<T>(answered);
}

/// A service whose one agent is elsewhere, and two jobs of tenant red that were ordered there.
class ServiceMetricsTest : public testing::Test, public AgentPort {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "rubato-jobmetrics-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    open();
    wire::JobSpec spec;
    spec.set_kind("emulated");
    spec.set_name("net");
    spec.set_steps(1000);
    spec.set_tenant("red");
    spec.mutable_workers()->set_max(2);
    wire::SpeedPoint& point = *spec.add_speeds();
    point.set_workers(1);
    point.set_steps_per_second(10);
    for (int i = 0; i < 2; ++i) {
      (void)said(service_->submit(kHeadOfAll, spec, ""));
    }
    // Orders go out with the next round of the scheduler.
    for (int i = 0; i < 400 && orders_ < 2; ++i) {
      ::usleep(25'000);
    }
    ASSERT_GE(orders_, 2);
  }
  void TearDown() override {
    service_->attach("a", nullptr);
    service_.reset();
    std::filesystem::remove_all(folder_);
  }

  void open() {
    ServiceOptions options{.state_directory = folder_};
    options.controller.nodes = {{.name = "n0", .agent = "a", .slots = 4}};
    service_ = Service::open(options).value();
    service_->attach("a", this);
    wire::FromAgent hello;
    hello.mutable_hello()->set_agent("a");
    hello.mutable_hello()->add_nodes()->set_name("n0");
    service_->hear("a", hello);
  }
  void send(const wire::ToAgent& message) override { orders_ += message.has_run() ? 1 : 0; }

  void tell(const std::string& agent, const std::string& job, const std::string& name,
            const std::vector<double>& values) {
    wire::FromAgent message;
    message.mutable_metrics()->set_job(job);
    for (const double value : values) {
      wire::MetricPoint& point = *message.mutable_metrics()->add_points();
      point.set_name(name);
      point.set_value(value);
      point.set_sequence(++sequence_);
      point.set_step(static_cast<std::int64_t>(sequence_));
    }
    service_->hear(agent, message);
  }

  std::string folder_;
  std::unique_ptr<Service> service_;
  std::atomic<int> orders_ = 0;
  std::uint64_t sequence_ = 0;
};

TEST_F(ServiceMetricsTest, ShowsMetricsByStepToThoseWhoMaySeeTheJob) {
  tell("a", "1", "loss", {3, 2, 1});
  tell("a", "1", "acc", {std::numeric_limits<double>::quiet_NaN()});

  const auto reply = said(service_->job_metrics(kOfRed, "1", {}));

  EXPECT_THAT(reply.names(), testing::ElementsAre("acc", "loss"));
  ASSERT_EQ(reply.lines_size(), 2);
  EXPECT_TRUE(std::isnan(reply.lines(0).values(0)));
  EXPECT_THAT(reply.lines(1).steps(), testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(reply.lines(1).values(), testing::ElementsAre(3, 2, 1));
  const auto hidden = service_->job_metrics(kOfBlue, "1", {});
  ASSERT_TRUE(std::holds_alternative<Refusal>(hidden));
  EXPECT_EQ(std::get<Refusal>(hidden).kind, RefusalKind::NotFound);
}

TEST_F(ServiceMetricsTest, HasOnlyTheNamesAndPointsThatWereAskedFor) {
  tell("a", "1", "loss", std::vector<double>(100, 0.5));
  tell("a", "1", "acc", {1});

  const auto reply =
      said(service_->job_metrics(kHeadOfAll, "1", {.names = {"loss", "nothing"}, .points = 10}));

  EXPECT_THAT(reply.names(), testing::ElementsAre("acc", "loss"));
  ASSERT_EQ(reply.lines_size(), 1);
  EXPECT_LE(reply.lines(0).values_size(), 10);
}

TEST_F(ServiceMetricsTest, ComparesOneMetricOfSeveralJobs) {
  tell("a", "1", "loss", {3});
  tell("a", "2", "loss", {2});

  const auto reply = said(service_->compare_metrics(kOfRed, {2, 1}, {.names = {"loss"}}));

  EXPECT_EQ(reply.name(), "loss");
  ASSERT_EQ(reply.jobs_size(), 2);
  EXPECT_EQ(reply.jobs(0).job(), "2");
  EXPECT_EQ(reply.jobs(0).name(), "net");
  EXPECT_THAT(reply.jobs(0).values(), testing::ElementsAre(2));
  EXPECT_THAT(reply.jobs(1).values(), testing::ElementsAre(3));
  EXPECT_TRUE(std::holds_alternative<Refusal>(
      service_->compare_metrics(kOfBlue, {1, 2}, {.names = {"loss"}})));
  EXPECT_TRUE(std::holds_alternative<Refusal>(
      service_->compare_metrics(kHeadOfAll, {1, 9}, {.names = {"loss"}})));
}

TEST_F(ServiceMetricsTest, BelievesOnlyAgentsThatWereOrderedToRunTheJob) {
  tell("mallory", "1", "loss", {3});
  tell("a", "9", "loss", {3});

  EXPECT_EQ(said(service_->job_metrics(kHeadOfAll, "1", {})).names_size(), 0);
}

TEST_F(ServiceMetricsTest, RemembersThemAfterARestartWithoutJournallingThem) {
  tell("a", "1", "loss", {3, 2, 1});
  (void)said(service_->job_metrics(kHeadOfAll, "1", {}));
  service_->attach("a", nullptr);
  service_.reset();

  open();

  EXPECT_THAT(said(service_->job_metrics(kHeadOfAll, "1", {})).lines(0).values(),
              testing::ElementsAre(3, 2, 1));
  EXPECT_EQ(service_->recovery().differences, 0);
}

}  // namespace
}  // namespace rubato
