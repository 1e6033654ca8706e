// A script job whose leader is played by the test: nothing is started, what it says comes over the
// real socket.
#pragma once

#include <csignal>
#include <deque>
#include <filesystem>
#include <string>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <linux/sockios.h>

#include "rubato/launch/script/script_run.h"
#include "rubato/wire/snapshot_file.h"

namespace rubato::launch::script {

/// Starts nothing; remembers what it was asked for.
class RecordingLauncher final : public Launcher {
 public:
  [[nodiscard]] int descriptor() const override { return news_.get(); }
  [[nodiscard]] Status start(const WorkerStart& start) override {
    if (is_unable) {
      return bad_input("no such program");
    }
    started.push_back(start.worker);
    environment = start.environment;
    return ok_status();
  }
  [[nodiscard]] Status signal(WorkerId worker, int number) override {
    signals.emplace_back(worker, number);
    return ok_status();
  }
  [[nodiscard]] std::vector<WorkerEnd> ended() override { return std::exchange(ends, {}); }

  [[nodiscard]] bool has_killed(std::uint64_t worker) const {
    return std::ranges::count(signals, std::pair(WorkerId{worker}, SIGKILL)) > 0;
  }

  bool is_unable = false;
  std::vector<WorkerId> started{};
  std::vector<std::pair<WorkerId, int>> signals{};
  std::vector<WorkerEnd> ends{};
  Environment environment{};

 private:
  Descriptor news_{::eventfd(0, EFD_CLOEXEC)};
};

class ScriptScene : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::to_string(::getpid()) + "-" + info->name());
    std::filesystem::create_directories(folder_);
    options_.directory = folder_;
    options_.workers = 2;
    options_.patience = std::chrono::seconds(60);
    options_.heartbeat = std::chrono::milliseconds(1);
  }
  void TearDown() override {
    run_.reset();
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    std::filesystem::remove_all(folder_);
  }

  void open() {
    auto opened = ScriptRun::open(options_, launcher_, events_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    run_ = std::move(*opened);
  }
  bool turn() { return run_->turn(std::chrono::milliseconds(5)); }
  template <typename Condition>
  void turn_until(const Condition& holds) {
    while (!holds()) {
      turn();
    }
  }

  // A process that does nothing: the leader's own, or a replica of it.
  pid_t start_process() {
    const pid_t pid = ::fork();
    if (pid == 0) {
      while (true) {
        ::pause();
      }
    }
    pids_.push_back(pid);
    return pid;
  }
  void end_process(pid_t pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    std::erase(pids_, pid);
  }

  UnixChannel greet(std::uint64_t worker, std::uint64_t token, pid_t pid, std::uint64_t step) {
    auto channel = UnixChannel::connect(launcher_.environment.at("RUBATO_CONDUCTOR"));
    EXPECT_TRUE(channel.ok());
    wire::script::FromScript message;
    message.mutable_hello()->set_version(version_);
    message.mutable_hello()->set_worker(worker);
    message.mutable_hello()->set_token(token);
    message.mutable_hello()->set_pid(pid);
    message.mutable_hello()->set_step(step);
    EXPECT_TRUE(channel->send(message.SerializeAsString()).ok());
    return std::move(*channel);
  }
  [[nodiscard]] std::uint64_t token() const {
    return std::stoull(launcher_.environment.at("RUBATO_TOKEN"));
  }
  // The leader says hello and hears its welcome.
  wire::script::Welcome join(std::uint64_t worker, pid_t pid, std::uint64_t step = 0) {
    heard_.clear();
    workers_ = 1;
    channel_.emplace(greet(worker, token(), pid, step));
    return hear(wire::script::ToScript::kWelcome).welcome();
  }
  wire::script::Welcome join(std::uint64_t worker = 1) { return join(worker, start_process()); }

  void say(const wire::script::FromScript& message, const std::vector<int>& lent = {}) {
    EXPECT_TRUE(channel_->send(message.SerializeAsString(), lent).ok());
  }
  void beat(std::uint64_t step, std::uint32_t workers = 1) {
    wire::script::FromScript message;
    message.mutable_alive()->set_step(step);
    message.mutable_alive()->set_workers(workers);
    say(message);
  }
  void reach(std::uint64_t step) {
    beat(step, workers_);
    turn_until_heard();
  }
  struct Change {
    std::vector<pid_t> pids{};
    std::uint64_t step = 0;
    std::uint64_t order = 1;
    std::string cause{};
    bool is_forced = false;
  };
  void tell_size(const Change& change) {
    wire::script::FromScript message;
    auto& body = *message.mutable_resized();
    workers_ = static_cast<std::uint32_t>(1 + change.pids.size());
    body.set_workers(workers_);
    body.set_pause_us(4000);
    body.set_step(change.step);
    body.set_order(change.order);
    body.set_cause(change.cause);
    body.set_is_forced(change.is_forced);
    for (const pid_t pid : change.pids) {
      body.add_pids(pid);
    }
    say(message);
    turn_until_heard();
  }
  // All that the leader has said is known.
  void turn_until_heard() {
    int unread = 1;
    turn_until([&] {
      EXPECT_EQ(::ioctl(channel_->descriptor(), SIOCOUTQ, &unread), 0);
      return unread == 0;
    });
  }
  void write_snapshot(std::uint64_t step, std::uint32_t slot = 0) {
    const std::string state = "state of step " + std::to_string(step);
    std::vector<std::byte> bytes(4096);
    const auto length = encode_snapshot(
        {.cursor = {.step = step}, .sections = {std::as_bytes(std::span(state))}}, bytes);
    const Descriptor memory(::memfd_create("test-snapshot", MFD_CLOEXEC));
    ASSERT_EQ(::write(memory.get(), bytes.data(), *length), static_cast<ssize_t>(*length));
    wire::script::FromScript message;
    message.mutable_snapshot_written()->set_slot(slot);
    message.mutable_snapshot_written()->set_step(step);
    message.mutable_snapshot_written()->set_bytes(*length);
    say(message, {memory.get()});
  }
  void tell_suspended(std::uint64_t step) {
    wire::script::FromScript message;
    message.mutable_suspended()->set_step(step);
    say(message);
  }

  // The process that was started has ended.
  void lose(ExitKind kind, ExitStatus status) {
    launcher_.ends.push_back(
        {.worker = launcher_.started.back(), .cause = {.kind = kind, .status = status}});
    turn();
  }
  void lose_to_signal(int signal) { lose(ExitKind::Signal, {.signal = signal}); }

  // Turns until the leader is told such a thing.
  wire::script::ToScript hear(wire::script::ToScript::KindCase kind) {
    while (true) {
      turn();
      auto frames = channel_->receive();
      if (!frames) {
        ADD_FAILURE() << "the leader's line is closed";
        return {};
      }
      for (Frame& frame : *frames) {
        wire::script::ToScript message;
        EXPECT_TRUE(message.ParseFromString(frame.bytes));
        heard_.emplace_back(std::move(message), std::move(frame.descriptors));
      }
      while (!heard_.empty()) {
        wire::script::ToScript word = std::move(heard_.front().first);
        lent_ = std::move(heard_.front().second);
        heard_.pop_front();
        if (word.kind_case() == kind) {
          return word;
        }
      }
    }
  }
  [[nodiscard]] const JobTimeline& timeline() const { return run_->timeline(); }
  [[nodiscard]] const GenerationRecord& last() const { return timeline().generations.back(); }

  std::filesystem::path folder_;
  ScriptRunOptions options_;
  TrainingRunEvents events_;
  RecordingLauncher launcher_;
  std::unique_ptr<ScriptRun> run_;
  std::optional<UnixChannel> channel_;
  std::deque<std::pair<wire::script::ToScript, std::vector<Descriptor>>> heard_;
  std::vector<Descriptor> lent_;
  std::vector<pid_t> pids_;
  std::uint32_t version_ = kScriptProtocol;
  std::uint32_t workers_ = 1;
};

}  // namespace rubato::launch::script
