// What tests of the agent share: an agent in this process, jobs that are conducted by the real
// program, and everything the agent has said.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "conductors_test.h"
#include "rubato/live/agent/agent.h"
#include "rubato/live/agent/leftovers.h"
#include "train_scene_test.h"

namespace rubato {

class AgentScene : public TrainScene {
 protected:
  void TearDown() override {
    agent_.reset();
    // Whatever a test that failed has left behind.
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "jobs", none)) {
      kill_conductors_of(entry.path());
      wait_until([&] { return end_leftovers(entry.path()); });
    }
    TrainScene::TearDown();
  }

  [[nodiscard]] AgentOptions agent_options() const {
    wire::AgentNode node;
    node.set_name("here");
    node.set_emulated(is_pretended_);
    for (int i = 0; i < 8; ++i) {
      node.add_slots()->set_index(i);
      node.mutable_slots(i)->set_device(has_devices_ ? "GPU-" + std::to_string(i) : "");
    }
    return {.offer = {.name = "agent",
                      .nodes = {node},
                      .cpus = 8,
                      .report = std::chrono::milliseconds(10)},
            .directory = folder_ / "jobs",
            .program = std::getenv("RUBATO_BINARY")};
  }

  void open_agent() {
    auto agent =
        Agent::open(agent_options(), [this](const wire::FromAgent& message) { hear(message); });
    ASSERT_TRUE(agent.ok()) << agent.error().message;
    agent_ = std::move(*agent);
  }

  /// Starts `rubato agent` as a process that serves the controller at this port of ours.
  pid_t start_agent(int port) {
    std::vector<std::string> words{std::getenv("RUBATO_BINARY"),
                                   "agent",
                                   "--controller",
                                   "127.0.0.1:" + std::to_string(port),
                                   "--state",
                                   folder_,
                                   "--slots",
                                   "4",
                                   "--name",
                                   "here"};
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    const std::string errors = path("agent-errors");
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("RUBATO_TOKEN", "secret", 1);
      ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    return child;
  }

  void hear(const wire::FromAgent& message) {
    {
      const std::scoped_lock lock(mutex_);
      heard_.push_back(message);
    }
    said_.notify_all();
  }

  /// The first message from `from_` on that is of use; the next search begins behind it.
  template <typename Condition>
  wire::FromAgent await(const Condition& is_it) {
    std::unique_lock lock(mutex_);
    while (true) {
      for (; next_ < heard_.size(); ++next_) {
        if (is_it(heard_[next_])) {
          return heard_[next_++];
        }
      }
      said_.wait(lock);
    }
  }
  wire::JobReport await_report(const std::function<bool(const wire::JobReport&)>& is_it) {
    return await([&](const wire::FromAgent& m) { return m.has_report() && is_it(m.report()); })
        .report();
  }
  wire::JobReport await_step(double step) {
    return await_report([&](const wire::JobReport& report) { return report.done() >= step; });
  }
  wire::SlotsHeld await_held(std::uint64_t order) {
    return await(
               [&](const wire::FromAgent& m) { return m.has_held() && m.held().order() == order; })
        .held();
  }
  wire::JobEnded await_ended() {
    return await([](const wire::FromAgent& m) { return m.has_ended(); }).ended();
  }

  /// The most sizes whose speed a report has told so far.
  int most_measured() {
    const std::scoped_lock lock(mutex_);
    int most = 0;
    for (const wire::FromAgent& message : heard_) {
      most = std::max(most, message.report().measured_size());
    }
    return most;
  }

  static wire::JobSpec spec_of(const std::vector<std::string>& command) {
    wire::JobSpec spec;
    for (const std::string& word : command) {
      spec.add_command(word);
    }
    spec.set_name("test");
    spec.set_steps(316);
    return spec;
  }

  static wire::ToAgent order(std::uint64_t number, int slots, const wire::JobSpec& spec) {
    wire::ToAgent message;
    message.mutable_run()->set_job("7");
    message.mutable_run()->set_order(number);
    *message.mutable_run()->mutable_spec() = spec;
    for (int i = 0; i < slots; ++i) {
      message.mutable_run()->add_slots()->set_node("here");
      message.mutable_run()->mutable_slots(i)->set_index(i);
    }
    return message;
  }

  void forget() {
    wire::ToAgent message;
    message.mutable_forget()->set_job("7");
    agent_->send(message);
  }

  /// The job has done what one undisturbed worker would have.
  static void expect_undisturbed(const wire::JobEnded& ended) {
    EXPECT_EQ(ended.outcome(), "finished") << ended.detail();
    EXPECT_EQ(ended.done(), 316);
    EXPECT_EQ(ended.parameter_hash(), kUndisturbed);
  }

  [[nodiscard]] std::string job_folder() const { return folder_ / "jobs" / "7"; }

  bool is_pretended_ = false;
  bool has_devices_ = false;
  std::unique_ptr<Agent> agent_;
  std::mutex mutex_;
  std::condition_variable said_;
  std::vector<wire::FromAgent> heard_;
  std::size_t next_ = 0;
};

}  // namespace rubato
