// The whole platform with real processes: `rubato up`, the verbs users type, and kill -9.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rubato {
namespace {

namespace fs = std::filesystem;

/// What a verb said.
struct VerbOutcome {
  int code = -1;
  std::string out{};

  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

class PlatformScene : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(std::getenv("RUBATO_BINARY"), nullptr);
    folder_ =
        fs::temp_directory_path() / ("rubato-platform-" + std::to_string(::getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    up();
  }
  void TearDown() override {
    end(SIGTERM);
    fs::remove_all(folder_);
  }

  /// Starts the platform and waits until it says where it listens.
  void up() {
    const fs::path said = folder_ / "up.log";
    fs::remove(said);
    pid_ = ::fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      (void)std::freopen(said.c_str(), "w", stdout);
      (void)std::freopen((folder_ / "up.errors").c_str(), "a", stderr);
      const std::string state = folder_ / "state";
      const char* program = std::getenv("RUBATO_BINARY");
      ::execl(program, program, "up", "--slots", "4", "--port", "0", "--state", state.c_str(),
              nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 600; ++i) {
      std::ifstream file(said);
      std::string text((std::istreambuf_iterator<char>(file)), {});
      const std::size_t at = text.find("http://");
      if (at != std::string::npos && text.find('\n', at) != std::string::npos) {
        server_ = text.substr(at, text.find('\n', at) - at);
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    FAIL() << "the platform did not come up";
  }

  void end(int signal) {
    if (pid_ > 0) {
      ::kill(pid_, signal);
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }

  /// Runs `rubato WORDS`; what it prints on standard error is left to the test's own.
  [[nodiscard]] VerbOutcome rubato(const std::string& words) const {
    const std::string command =
        "RUBATO_SERVER=" + server_ + " " + std::getenv("RUBATO_BINARY") + " " + words;
    VerbOutcome outcome;
    FILE* pipe = ::popen(command.c_str(), "r");
    std::array<char, 4096> buffer{};
    while (std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
      outcome.out.append(buffer.data(), count);
    }
    const int status = ::pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
  }
  [[nodiscard]] std::string field(const std::string& job, const std::string& name) const {
    const nlohmann::json json = rubato("status " + job + " --json").json();
    return json.contains(name)
               ? json.at(name).is_string() ? json.at(name).get<std::string>() : json.at(name).dump()
               : "";
  }
  [[nodiscard]] bool comes_to(const std::string& job, const std::string& name,
                              const std::string& value) const {
    for (int i = 0; i < 600; ++i) {
      if (field(job, name) == value) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  static constexpr const char* kEmulated =
      " --kind emulated --model pretended --speeds 1:10,2:19,4:35 ";

 private:
  fs::path folder_{};
  pid_t pid_ = -1;
  std::string server_{};
};

TEST_F(PlatformScene, RunsAJobUnderAPromiseAndReturnsItsCode) {
  const VerbOutcome run =
      rubato("run --name first --steps 60 --deadline 60s" + std::string(kEmulated));
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_EQ(field("1", "state"), "SUCCEEDED");
  EXPECT_EQ(field("1", "steps_done"), "60");
  EXPECT_EQ(field("1", "missed"), "false");
}

TEST_F(PlatformScene, RefusesAnImpossibleDeadlineWithCounterOffers) {
  const VerbOutcome run = rubato("run --steps 100000 --deadline 5s" + std::string(kEmulated));
  EXPECT_EQ(run.code, 80);
  EXPECT_EQ(field("1", "state"), "REJECTED");
  EXPECT_EQ(field("1", "reason"), "deadline_too_soon");
}

TEST_F(PlatformScene, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(rubato("run --steps -3 --deadline 5s" + std::string(kEmulated)).code, 65);
  EXPECT_EQ(rubato("status 77").code, 85);
}

TEST_F(PlatformScene, ReturnsTheCodeOfAForeignProgramThatFails) {
  const VerbOutcome run =
      rubato("run --kind restart --steps 1 --speeds 1:1 --workers 1 -- sh -c 'exit 3'");
  EXPECT_EQ(run.code, 3) << run.out;
  EXPECT_EQ(field("1", "state"), "FAILED");
}

TEST_F(PlatformScene, ShrinksOneJobForAnotherAndTellsWhoWasToBlame) {
  ASSERT_EQ(rubato("run --detach --steps 4000 --name patient" + std::string(kEmulated)).code, 0);
  ASSERT_TRUE(comes_to("1", "workers", "4"));
  ASSERT_EQ(
      rubato("run --detach --steps 300 --deadline 30s --name urgent" + std::string(kEmulated)).code,
      0);
  ASSERT_TRUE(comes_to("2", "state", "SUCCEEDED"));
  EXPECT_EQ(field("2", "missed"), "false");
  EXPECT_THAT(rubato("blame 1").out, testing::HasSubstr("arrival of job 2"));
  EXPECT_EQ(rubato("cancel 1").code, 0);
  EXPECT_TRUE(comes_to("1", "state", "CANCELLED"));
}

TEST_F(PlatformScene, LosesNothingWhenItIsKilled) {
  ASSERT_EQ(
      rubato("run --detach --steps 250 --deadline 90s --name lasting" + std::string(kEmulated))
          .code,
      0);
  double before = 0;
  for (int kill = 0; kill < 3; ++kill) {
    ASSERT_TRUE(comes_to("1", "state", kill == 0 ? "RUNNING" : field("1", "state")));
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    const double done = std::stod(field("1", "steps_done"));
    EXPECT_GE(done, before) << "a committed step was lost";
    before = done;
    end(SIGKILL);
    up();
  }
  ASSERT_TRUE(comes_to("1", "state", "SUCCEEDED"));
  EXPECT_EQ(field("1", "restarts"), "0") << "training went on while the platform was gone";
  EXPECT_EQ(field("1", "missed"), "false");
  EXPECT_EQ(rubato("list --json").json().at("jobs").size(), 1U);
}

}  // namespace
}  // namespace rubato
