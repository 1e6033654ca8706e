// Machines that join the platform: agents in processes of their own, with directories of their own.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platform_scene_test.h"
#include "rubato/http/certificate_test.h"
#include "rubato/live/agent/leftovers.h"

namespace rubato {
namespace {

using testing::HasSubstr;

/// The platform with one slot here; the test adds a machine with two.
class RemoteAgentScene : public PlatformScene {
 protected:
  void SetUp() override {
    flags_ = {"--slots", "1", "--agents", "127.0.0.1:0"};
    PlatformScene::SetUp();
  }
  void TearDown() override {
    end_agent(SIGTERM);
    end(SIGTERM);
    // Jobs go on without us, those of a test that failed too.
    std::error_code none;
    for (const auto& state : {state_, folder_ / "far-state"}) {
      for (const auto& job : std::filesystem::directory_iterator(state / "jobs", none)) {
        while (!end_leftovers(job.path())) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
      }
    }
    PlatformScene::TearDown();
  }

  /// With a token from now on, and a directory that both see.
  void up_with_token() {
    end(SIGTERM);
    std::ofstream(folder_ / "token") << "let-me-in\n";
    flags_.insert(flags_.end(),
                  {"--agent-token", folder_ / "token", "--shared", folder_ / "shared"});
    up();
  }

  /// The same, and all encrypted, for a host that the certificate names.
  void up_with_tls() {
    flags_.insert(flags_.end(), {"--tls-certificate", certificate_.certificate_file(), "--tls-key",
                                 certificate_.key_file()});
    up_with_token();
    server_ = by_name(server_);
    verb_flags_ = " --ca " + certificate_.certificate_file();
  }
  static std::string by_name(std::string address) {
    const std::string number = "127.0.0.1";
    return address.replace(address.find(number), number.size(), "localhost");
  }

  void start_agent(const std::string& token = "let-me-in",
                   const std::vector<std::string>& flags = {}) {
    const std::size_t at = said_.find("agents join at ");
    ASSERT_NE(at, std::string::npos) << said_;
    const std::size_t begin = at + std::string("agents join at ").size();
    const std::string address = by_name(said_.substr(begin, said_.find('\n', begin) - begin));
    std::ofstream(folder_ / "agent-token") << token << "\n";
    agent_ = ::fork();
    ASSERT_GE(agent_, 0);
    if (agent_ == 0) {
      (void)std::freopen((folder_ / "agent.errors").c_str(), "a", stderr);
      std::vector<std::string> words{std::getenv("RUBATO_BINARY"),
                                     "node",
                                     "add",
                                     "--controller",
                                     address,
                                     "--state",
                                     folder_ / "far-state",
                                     "--name",
                                     "far",
                                     "--slots",
                                     "2",
                                     "--shared",
                                     folder_ / "shared"};
      if (!token.empty()) {
        words.insert(words.end(), {"--token-file", folder_ / "agent-token"});
      }
      words.insert(words.end(), flags.begin(), flags.end());
      exec(words);
    }
  }
  void end_agent(int signal) {
    if (agent_ > 0) {
      ::kill(agent_, signal);
      ::waitpid(agent_, nullptr, 0);
      agent_ = -1;
    }
  }

  [[nodiscard]] bool complains(const std::string& of) const {
    std::ifstream file(folder_ / "agent.errors");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    return text.find(of) != std::string::npos;
  }
  [[nodiscard]] bool is_up(const std::string& node) const {
    const nlohmann::json list = rubato("node list --json").json();
    for (const auto& each : list.at("nodes")) {
      if (each.at("name") == node) {
        return each.value("up", false);
      }
    }
    return false;
  }
  static void await(const std::function<bool()>& is_so, const std::string& what) {
    for (int i = 0; i < 600 && !is_so(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ASSERT_TRUE(is_so()) << what;
  }
  [[nodiscard]] double steps_of(const std::string& job) const {
    const std::string text = field(job, "steps_done");
    return text.empty() ? 0 : std::stod(text);
  }

  static constexpr const char* kWide = " --kind emulated --model wide --speeds 1:5,2:9 ";

  TestCertificate certificate_;

 private:
  pid_t agent_ = -1;
};

TEST_F(RemoteAgentScene, JoinsIsGivenJobsAndIsFoundAgainAfterItWasKilled) {
  start_agent("");
  await([&] { return is_up("far"); }, "the machine joins");
  ASSERT_EQ(rubato("run --detach --steps 150 --workers 2" + std::string(kWide)).code, 0);
  await([&] { return steps_of("1") >= 20; }, "only the new machine has two slots");
  EXPECT_THAT(field("1", "slots"), HasSubstr("far/"));

  end_agent(SIGKILL);
  const double before = steps_of("1");
  start_agent("");

  ASSERT_TRUE(comes_to("1", "state", "SUCCEEDED"));
  EXPECT_GE(steps_of("1"), before);
  EXPECT_EQ(field("1", "restarts"), "0") << "it trained on without its agent";
  EXPECT_TRUE(is_up("far"));
}

TEST_F(RemoteAgentScene, JobsOfALostMachineGoOnHereFromTheirSnapshots) {
  if (std::getenv("RUBATO_SOAK") == nullptr) {
    GTEST_SKIP() << "takes a minute: make soak runs it";
  }
  up_with_token();
  start_agent();
  await([&] { return is_up("far"); }, "the machine joins");
  std::ofstream(folder_ / "job.json") << R"({"kind": "emulated", "model": "wide", "steps": 300,
      "snapshot_steps": 10, "speeds": {"1": 5, "2": 9}})";
  ASSERT_EQ(rubato("submit " + (folder_ / "job.json").string()).code, 0);
  await([&] { return steps_of("1") >= 40 && field("1", "workers") == "2"; }, "it runs there");

  end_agent(SIGKILL);
  await([&] { return !is_up("far"); }, "its silence is noticed");
  await([&] { return field("1", "workers") == "1"; }, "the job goes on here");
  EXPECT_GE(steps_of("1"), 30) << "from the snapshot that both can see";
  EXPECT_FALSE(processes_of_job(folder_ / "far-state" / "jobs" / "1").empty())
      << "nobody could tell the old copy";
  start_agent();
  await([&] { return is_up("far"); }, "the machine is back");
  await(
      [&] {
        return processes_of_job(folder_ / "far-state" / "jobs" / "1").empty() ||
               field("1", "slots").find("far/") != std::string::npos;
      },
      "the old copy ends");

  ASSERT_TRUE(comes_to("1", "state", "SUCCEEDED"));
  EXPECT_EQ(rubato("list --json").json().at("jobs").size(), 1U);
  EXPECT_FALSE(rubato("logs 1").out.empty());
}

TEST_F(RemoteAgentScene, NobodyJoinsWithoutTheToken) {
  up_with_token();
  start_agent("wrong");
  await([&] { return complains("no such token"); }, "the agent says why it is turned away");
  EXPECT_FALSE(is_up("far"));

  const std::string state = folder_ / "other-state";
  const VerbOutcome open_to_all =
      rubato("up --port 0 --slots 1 --agents 0.0.0.0:0 --state " + state);
  EXPECT_EQ(open_to_all.code, 78) << "the world may not join without a token";
}

TEST_F(RemoteAgentScene, JoinsAnEncryptedPlatformThatItTrusts) {
  up_with_tls();
  start_agent();
  await([&] { return complains("no connection"); }, "it trusts nobody it has no certificate of");
  EXPECT_FALSE(is_up("far"));
  end_agent(SIGTERM);
  start_agent("let-me-in", {"--root-certificate", certificate_.certificate_file()});
  await([&] { return is_up("far"); }, "the machine joins");

  ASSERT_EQ(rubato("run --detach --steps 60 --workers 2" + std::string(kWide)).code, 0);

  ASSERT_TRUE(comes_to("1", "state", "SUCCEEDED"));
  EXPECT_THAT(rubato("node list").out, HasSubstr("far"));
}

TEST_F(RemoteAgentScene, ADrainedMachineIsLeftAndUsedAgain) {
  if (std::getenv("RUBATO_SOAK") == nullptr) {
    GTEST_SKIP() << "takes a minute: make soak runs it";
  }
  up_with_token();
  start_agent();
  await([&] { return is_up("far"); }, "the machine joins");
  ASSERT_EQ(rubato("run --detach --steps 400" + std::string(kWide)).code, 0);
  await([&] { return field("1", "workers") == "2" && steps_of("1") > 5; }, "it runs there");

  const double before = steps_of("1");
  ASSERT_EQ(rubato("node drain far").code, 0);
  await([&] { return field("1", "workers") == "1" && steps_of("1") > before; }, "it runs here");
  EXPECT_TRUE(processes_of_job(folder_ / "far-state" / "jobs" / "1").empty());
  ASSERT_EQ(rubato("node resume far").code, 0);
  ASSERT_EQ(rubato("run --detach --steps 60 --workers 2" + std::string(kWide)).code, 0);
  ASSERT_TRUE(comes_to("2", "state", "SUCCEEDED"));

  EXPECT_EQ(rubato("node maintenance far --at now --for 1h").code, 0);
  await([&] { return !is_up("far"); }, "it is closed");
  EXPECT_EQ(rubato("cancel 1").code, 0);
}

}  // namespace
}  // namespace rubato
