// The system's clock is set while jobs wait for their deadlines.
#include <atomic>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rubato/live/service/clock.h"
#include "rubato/live/service/service.h"
#include "rubato/spec/deadline_text.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

/// A service whose system's clock the test sets; time passes as it really does.
class ServiceClockTest : public testing::Test {
 protected:
  ServiceClockTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rubato-clock-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    open();
  }
  ~ServiceClockTest() override {
    service_.reset();
    std::filesystem::remove_all(folder_);
  }
  ServiceClockTest(const ServiceClockTest&) = delete;
  ServiceClockTest& operator=(const ServiceClockTest&) = delete;

  void open() {
    service_.reset();
    ServiceOptions options{.state_directory = folder_};
    options.controller.nodes = {{.name = "n0", .agent = "a", .slots = 4}};
    options.time.system = [this] { return system_now(); };
    service_ = Service::open(options).value();
    wire::FromAgent hello;
    hello.mutable_hello()->set_agent("a");
    hello.mutable_hello()->add_nodes()->set_name("n0");
    service_->hear("a", hello);
  }

  /// By the clock on the wall.
  [[nodiscard]] Instant system_now() const {
    return real_time_sources().system() + Duration{set_by_.load()};
  }
  void set_system(Duration by) { set_by_ += by.count(); }

  [[nodiscard]] wire::JobStatus submit(Instant deadline) {
    wire::JobSpec spec;
    spec.set_kind("emulated");
    spec.set_steps(100);
    spec.set_deadline(rfc3339_text(deadline));
    spec.add_speeds()->set_workers(1);
    spec.mutable_speeds(0)->set_steps_per_second(10);
    const auto answer = service_->submit(kRoot, spec, "");
    EXPECT_TRUE(std::holds_alternative<wire::SubmitReply>(answer));
    return std::get<wire::SubmitReply>(answer).job();
  }
  [[nodiscard]] Instant service_now() {
    return *from_timestamp(std::get<wire::ReportReply>(service_->report(kRoot, 60)).to());
  }
  /// How far the job's deadline is, as the platform sees it.
  [[nodiscard]] Duration left(const std::string& id) {
    const auto job = std::get<wire::JobStatus>(service_->job(kRoot, id));
    return *from_timestamp(job.deadline()) - service_now();
  }
  static void expect_about(Duration found, Duration wanted) {
    EXPECT_NEAR(to_seconds(found), to_seconds(wanted), 10);
  }

  const Caller kRoot{.user = "root", .role = Role::Admin};
  std::string folder_;
  std::atomic<std::int64_t> set_by_ = 0;
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceClockTest, ADeadlineIsAsFarAwayAsToWhoWroteIt) {
  (void)submit(system_now() + minutes(5));
  for (const Duration by : {Duration(hours(3)), Duration(-hours(7))}) {
    set_system(by);

    const wire::JobStatus job = submit(system_now() + minutes(10));

    EXPECT_NE(job.state(), "REJECTED");
    expect_about(left(job.id()), minutes(10));
  }
  expect_about(left("1"), minutes(5));
}

TEST_F(ServiceClockTest, OneThatHasPassedByTheNewClockIsRefused) {
  const Instant before = system_now();
  set_system(hours(1));

  EXPECT_EQ(submit(before + minutes(30)).state(), "REJECTED");
}

TEST_F(ServiceClockTest, ARestartAfterAJumpBringsNoDeadlineNearer) {
  (void)submit(system_now() + minutes(5));
  set_system(hours(2));
  const wire::JobStatus later = submit(system_now() + minutes(10));

  open();

  EXPECT_EQ(service_->recovery().differences, 0U);
  expect_about(left("1"), minutes(5));
  expect_about(left(later.id()), minutes(10));
}

TEST_F(ServiceClockTest, WhereNobodyWaitsARestartTakesTheSystemsClock) {
  set_system(hours(2));
  expect_about(system_now() - service_now(), hours(2));

  open();

  expect_about(system_now() - service_now(), seconds(0));
}

}  // namespace
}  // namespace rubato
