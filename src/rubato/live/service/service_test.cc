#include "rubato/live/service/service.h"

#include <filesystem>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

namespace fs = std::filesystem;

/// A state directory that goes with the test.
class StateFolder {
 public:
  StateFolder() {
    std::string pattern = (fs::temp_directory_path() / "rubato-service-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~StateFolder() { fs::remove_all(path_); }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Remembers what it was told.
class ListeningPort : public AgentPort {
 public:
  void send(const wire::ToAgent& message) override {
    const std::lock_guard lock(mutex_);
    messages_.push_back(message);
  }
  [[nodiscard]] std::vector<wire::ToAgent> messages() {
    const std::lock_guard lock(mutex_);
    return messages_;
  }

 private:
  std::mutex mutex_;
  std::vector<wire::ToAgent> messages_;
};

const Caller kAdmin{.user = "root", .role = Role::Admin};

ServiceOptions options_in(const StateFolder& folder) {
  ServiceOptions options{.state_directory = folder.path()};
  options.controller.nodes = {{.name = "n0", .agent = "a", .slots = 4}};
  return options;
}

wire::FromAgent hello() {
  wire::FromAgent message;
  message.mutable_hello()->set_agent("a");
  message.mutable_hello()->add_nodes()->set_name("n0");
  return message;
}

wire::JobSpec emulated_job(double steps) {
  wire::JobSpec spec;
  spec.set_kind("emulated");
  spec.set_steps(steps);
  for (int workers = 1; workers <= 4; workers *= 2) {
    wire::SpeedPoint& point = *spec.add_speeds();
    point.set_workers(workers);
    point.set_steps_per_second(10.0 * workers);
  }
  return spec;
}

template <typename T>
T value_of(const Answered<T>& answered) {
  const auto* refusal = std::get_if<Refusal>(&answered);
  EXPECT_EQ(refusal, nullptr) << refusal->message;
  return std::get<T>(answered);
}

// Rounds come once a second: what is decided may be carried out a little later.
void wait_for(const std::function<bool()>& is_so) {
  for (int i = 0; i < 200 && !is_so(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(is_so());
}

TEST(Service, JournalsASubmissionBeforeItOrdersWorkers) {
  const StateFolder folder;
  ListeningPort port;
  const auto service = Service::open(options_in(folder)).value();
  service->attach("a", &port);
  service->hear("a", hello());
  const auto reply = value_of(service->submit(kAdmin, emulated_job(100), ""));
  EXPECT_EQ(reply.job().id(), "1");
  wait_for([&] { return !port.messages().empty(); });
  EXPECT_EQ(value_of(service->job(kAdmin, "1")).state(), "STARTING");
  EXPECT_EQ(port.messages()[0].run().slots_size(), 4);
  service->attach("a", nullptr);
}

TEST(Service, RemembersEverythingAfterItWasStopped) {
  const StateFolder folder;
  ListeningPort port;
  for (const bool is_second : {false, true}) {
    const auto service = Service::open(options_in(folder)).value();
    EXPECT_EQ(service->recovery().differences, 0U);
    if (!is_second) {
      service->attach("a", &port);
      service->hear("a", hello());
      (void)value_of(service->submit(kAdmin, emulated_job(100), ""));
      wait_for([&] { return value_of(service->job(kAdmin, "1")).state() == "STARTING"; });
      service->attach("a", nullptr);
      continue;
    }
    EXPECT_EQ(value_of(service->job(kAdmin, "1")).state(), "STARTING");
    EXPECT_EQ(value_of(service->submit(kAdmin, emulated_job(5), "")).job().id(), "2");
  }
}

// What lies on disk while the service runs is what a kill -9 would leave.
TEST(Service, NeedNotReplayWhatWasCheckpointedWhileItRan) {
  const StateFolder folder;
  const StateFolder left;
  const auto service = Service::open(options_in(folder)).value();
  std::vector<std::thread> clients;  // Many at once share a write to disk.
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&] {
      for (int i = 0; i < 150; ++i) {
        (void)value_of(service->submit(kAdmin, emulated_job(100), ""));
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  wait_for([&] { return fs::exists(folder.path() + "/controller.state"); });
  for (const char* file :
       {"controller.state", "journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"}) {
    fs::copy(folder.path() + "/" + file, left.path() + "/" + file);
  }

  const auto again = Service::open(options_in(left)).value();

  EXPECT_LT(again->recovery().inputs, 1'100U);
  EXPECT_EQ(again->recovery().differences, 0U);
  EXPECT_EQ(value_of(again->submit(kAdmin, emulated_job(5), "")).job().id(), "1201");
}

TEST(Service, AnswersTheSameKeyWithTheSameJob) {
  const StateFolder folder;
  const auto service = Service::open(options_in(folder)).value();
  const auto first = value_of(service->submit(kAdmin, emulated_job(100), "k"));
  const auto again = value_of(service->submit(kAdmin, emulated_job(100), "k"));
  EXPECT_EQ(first.job().id(), again.job().id());
  const auto other = service->submit(kAdmin, emulated_job(200), "k");
  ASSERT_TRUE(std::holds_alternative<Refusal>(other));
  EXPECT_EQ(std::get<Refusal>(other).kind, RefusalKind::Conflict);
}

TEST(Service, TenantsDoNotSeeEachOther) {
  const StateFolder folder;
  const auto service = Service::open(options_in(folder)).value();
  const Caller ann{.user = "ann", .tenant = "vision"};
  const Caller bob{.user = "bob", .tenant = "speech"};
  const auto job = value_of(service->submit(ann, emulated_job(100), ""));
  EXPECT_EQ(job.job().spec().tenant(), "vision");
  for (const auto& refused : {service->job(bob, "1"), service->cancel(bob, "1")}) {
    ASSERT_TRUE(std::holds_alternative<Refusal>(refused));
    EXPECT_EQ(std::get<Refusal>(refused).kind, RefusalKind::NotFound);
  }
  EXPECT_EQ(value_of(service->jobs(bob, {})).jobs_size(), 0);
  EXPECT_EQ(value_of(service->jobs(ann, {})).jobs_size(), 1);
  const wire::EventList events = service->events(bob, 0, 100);
  for (const wire::EventRecord& event : events.events()) {
    EXPECT_EQ(event.job(), "") << event.message();
  }
}

TEST(Service, TakesTheNodesOfASilentAgentForLost) {
  const StateFolder folder;
  ServiceOptions options = options_in(folder);
  options.agent_patience = std::chrono::milliseconds(200);
  ListeningPort port;
  const auto service = Service::open(std::move(options)).value();
  service->attach("a", &port);
  service->hear("a", hello());
  const auto is_up = [&] { return value_of(service->nodes(kAdmin)).nodes(0).up(); };
  EXPECT_TRUE(is_up());
  for (int i = 0; i < 100 && is_up(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_FALSE(is_up());
  wire::FromAgent alive;
  alive.mutable_alive();
  service->hear("a", alive);
  EXPECT_FALSE(is_up()) << "its jobs may be with others now";
  ASSERT_FALSE(port.messages().empty());
  EXPECT_TRUE(port.messages().back().has_greet());
  service->hear("a", hello());
  EXPECT_TRUE(is_up());
}

TEST(Service, PagesThroughJobsTheNewestFirst) {
  const StateFolder folder;
  const auto service = Service::open(options_in(folder)).value();
  for (int i = 0; i < 5; ++i) {
    (void)value_of(service->submit(kAdmin, emulated_job(100), ""));
  }
  std::vector<std::string> seen;
  std::string token;
  do {
    const auto page = value_of(service->jobs(kAdmin, {.page_token = token, .page_size = 2}));
    for (const wire::JobStatus& job : page.jobs()) {
      seen.push_back(job.id());
    }
    token = page.next_page_token();
  } while (!token.empty());
  EXPECT_THAT(seen, testing::ElementsAre("5", "4", "3", "2", "1"));
}

TEST(Service, TellsOfTheJobsAskedForByNumber) {
  const StateFolder folder;
  const auto service = Service::open(options_in(folder)).value();
  for (int i = 0; i < 5; ++i) {
    (void)value_of(service->submit(kAdmin, emulated_job(100), ""));
  }
  const auto asked = [&](const JobQuery& query) {
    std::vector<std::string> seen;
    const auto page = value_of(service->jobs(kAdmin, query));
    for (const wire::JobStatus& job : page.jobs()) {
      seen.push_back(job.id());
    }
    return seen;
  };

  EXPECT_THAT(asked({.ids = {77, 4, 3, 1}}), testing::ElementsAre("4", "3", "1"));
  EXPECT_THAT(asked({.ids = {4, 3, 1}, .page_token = "4", .page_size = 1}),
              testing::ElementsAre("3"));
  EXPECT_THAT(asked({.tenant = "another", .ids = {4}}), testing::IsEmpty());
}

}  // namespace
}  // namespace rubato
