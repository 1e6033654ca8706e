// The other end of a leader's line, played by a test.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/wire/script.pb.h"
#include "rubato/wire/unix_channel.h"

namespace rubato::runtime::script {

/// Listens; answers a hello with `welcome`.
class PlayedSupervisor {
 public:
  PlayedSupervisor() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("rubato-script-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    listener_ = std::make_unique<UnixListener>(std::move(*UnixListener::open(path_)));
    welcome.set_heartbeat_us(1000);
    welcome.set_workers(1);
    welcome.set_order(1);
  }

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Waits for a connection and its hello, and welcomes it.
  wire::script::Hello take_leader(int resume_memory = -1) {
    channel_.reset();
    waiting_.clear();
    while (!channel_) {
      pollfd ready{.fd = listener_->descriptor(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, -1);
      auto arrived = listener_->accept();
      if (arrived && !arrived->empty()) {
        channel_.emplace(std::move(arrived->front()));
      }
    }
    const auto hello = hear(wire::script::FromScript::kHello).hello();
    wire::script::ToScript message;
    *message.mutable_welcome() = welcome;
    say(message, resume_memory < 0 ? std::vector<int>{} : std::vector<int>{resume_memory});
    return hello;
  }

  void say(const wire::script::ToScript& message, const std::vector<int>& attached = {}) {
    EXPECT_TRUE(channel_->send(message.SerializeAsString(), attached).ok());
  }
  void set_workers(std::uint32_t workers, std::uint64_t order) {
    wire::script::ToScript message;
    message.mutable_set_workers()->set_workers(workers);
    message.mutable_set_workers()->set_order(order);
    say(message);
  }

  /// The next message, whatever it is.
  wire::script::FromScript hear_any() {
    while (waiting_.empty()) {
      pollfd ready{.fd = channel_->descriptor(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, -1);
      auto frames = channel_->receive();
      if (!frames) {
        ADD_FAILURE() << "the leader has hung up";
        return {};
      }
      waiting_ = std::move(*frames);
    }
    wire::script::FromScript message;
    EXPECT_TRUE(message.ParseFromString(waiting_.front().bytes));
    lent = std::move(waiting_.front().descriptors);
    waiting_.erase(waiting_.begin());
    return message;
  }
  /// Waits for such a message; others before it are dropped. Its descriptors are in `lent`.
  wire::script::FromScript hear(wire::script::FromScript::KindCase kind) {
    wire::script::FromScript message = hear_any();
    while (message.kind_case() != kind &&
           message.kind_case() != wire::script::FromScript::KIND_NOT_SET) {
      message = hear_any();
    }
    return message;
  }
  /// Waits for a heartbeat of which this holds.
  template <typename Condition>
  wire::script::Alive hear_alive(const Condition& holds) {
    while (true) {
      const auto message = hear(wire::script::FromScript::kAlive);
      if (!message.has_alive() || holds(message.alive())) {
        return message.alive();
      }
    }
  }
  void hang_up() { channel_.reset(); }

  wire::script::Welcome welcome{};
  std::vector<Descriptor> lent{};

 private:
  std::string path_;
  std::unique_ptr<UnixListener> listener_;
  std::optional<UnixChannel> channel_;
  std::vector<Frame> waiting_{};
};

}  // namespace rubato::runtime::script
