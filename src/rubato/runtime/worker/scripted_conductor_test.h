// A conductor that does what a test tells it, word by word, for workers that are real.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <poll.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/wire/meeting.h"
#include "rubato/wire/unix_channel.h"
#include "rubato/wire/worker.pb.h"

namespace rubato {

/// How a generation is told.
struct ScriptedGeneration {
  std::uint64_t number = 1;
  std::vector<std::uint64_t> members{};
  bool is_forced = false;
  int snapshot = -1;  // Lent.
  std::uint64_t snapshot_bytes = 0;
  std::uint64_t snapshot_step = 0;
};

/// The conductor's side of the lines. Every wait ends with the test's own time limit.
class ScriptedConductor {
 public:
  ScriptedConductor() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            ("rubato-" + std::to_string(::getpid()) + "-" + info->name());
    auto listener = UnixListener::open(path_);
    EXPECT_TRUE(listener.ok());
    listener_.emplace(std::move(*listener));
    welcome.set_heartbeat_us(1000);
    welcome.set_seed(5);
  }

  wire::Welcome welcome;  // What workers are told first.

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Takes the connection of one worker and answers its hello.
  wire::Hello take_worker() {
    std::vector<UnixChannel> arrived;
    while (arrived.empty()) {
      wait_readable(listener_->descriptor());
      arrived = std::move(*listener_->accept());
    }
    Line line{.channel = std::move(arrived.front())};
    while (line.heard.empty()) {
      receive(line);
    }
    const wire::Hello hello = line.heard.front().message.hello();
    line.arena = std::move(line.heard.front().descriptors.at(0));
    line.heard.pop_front();
    lines_.emplace(hello.worker(), std::move(line));
    wire::FromConductor answer;
    *answer.mutable_welcome() = welcome;
    send(hello.worker(), answer);
    return hello;
  }

  void send(std::uint64_t worker, const wire::FromConductor& message,
            const std::vector<int>& lent = {}) {
    EXPECT_TRUE(lines_.at(worker).channel.send(message.SerializeAsString(), lent).ok());
  }
  void send_bytes(std::uint64_t worker, const std::string& bytes) {
    EXPECT_TRUE(lines_.at(worker).channel.send(bytes).ok());
  }
  void hang_up(std::uint64_t worker) { lines_.erase(worker); }

  /// Tells a generation to all who are connected, or to one alone; the memory is made once.
  void publish(const ScriptedGeneration& generation) {
    for (const auto& [worker, line] : lines_) {
      publish_to(worker, generation);
    }
  }
  void publish_to(std::uint64_t worker, const ScriptedGeneration& generation) {
    Descriptor& meeting = meetings_[generation.number];
    if (!meeting.is_open()) {
      meeting = Descriptor(::memfd_create("test-meeting", MFD_CLOEXEC));
      EXPECT_EQ(::ftruncate(meeting.get(), kMeetingBytes), 0);
    }
    wire::FromConductor message;
    wire::Generation& body = *message.mutable_generation();
    body.set_number(generation.number);
    body.set_is_forced(generation.is_forced);
    std::vector<int> lent{meeting.get()};
    for (const std::uint64_t member : generation.members) {
      body.add_members()->set_worker(member);
      if (member != worker) {
        body.add_new_arenas(member);
        lent.push_back(lines_.at(member).arena.get());
      }
    }
    body.set_resume_bytes(generation.snapshot_bytes);
    body.set_resume_step(generation.snapshot_step);
    if (generation.snapshot_bytes > 0) {
      lent.push_back(generation.snapshot);
    }
    send(worker, message, lent);
  }

  /// The next word of a worker of this kind; others before it are passed over.
  wire::FromWorker hear(std::uint64_t worker, wire::FromWorker::KindCase kind) {
    Line& line = lines_.at(worker);
    while (true) {
      while (line.heard.empty()) {
        receive(line);
      }
      Word word = std::move(line.heard.front());
      line.heard.pop_front();
      if (word.message.kind_case() == kind) {
        descriptors_ = std::move(word.descriptors);
        return word.message;
      }
    }
  }
  /// What came with the word heard last.
  [[nodiscard]] std::vector<Descriptor> take_descriptors() { return std::move(descriptors_); }

 private:
  struct Word {
    wire::FromWorker message{};
    std::vector<Descriptor> descriptors{};
  };
  struct Line {
    UnixChannel channel;
    Descriptor arena{};
    std::deque<Word> heard{};
  };

  static void wait_readable(int descriptor) {
    pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, -1);
  }
  static void receive(Line& line) {
    wait_readable(line.channel.descriptor());
    auto frames = line.channel.receive();
    ASSERT_TRUE(frames.ok()) << "the worker has hung up";
    for (Frame& frame : *frames) {
      Word word{.descriptors = std::move(frame.descriptors)};
      ASSERT_TRUE(word.message.ParseFromString(frame.bytes));
      line.heard.push_back(std::move(word));
    }
  }

  std::string path_;
  std::optional<UnixListener> listener_;
  std::map<std::uint64_t, Line> lines_;
  std::map<std::uint64_t, Descriptor> meetings_;
  std::vector<Descriptor> descriptors_;
};

}  // namespace rubato
