// Metrics and early ends with real processes: from a program's output to the command line, over
// deaths of the platform, and from another machine.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platform_scene_test.h"

namespace rubato {
namespace {

using testing::HasSubstr;

class PlatformMetrics : public PlatformScene {
 protected:
  // A program that takes a step and prints its loss so many times, and then waits for `stop`.
  [[nodiscard]] std::string printing(int lines, const std::string& after = "") const {
    return " --kind restart --speeds 1:10 --workers 1 -- sh -c '" + after + "i=0; while [ $i -lt " +
           std::to_string(lines) +
           " ]; do i=$((i+1)); echo \"$i 0\" > $RUBATO_PROGRESS_FILE; sleep 0.05; "
           "echo \"step $i loss: $((100 - i)).5 acc=0.$i\"; done; while [ ! -e " +
           (folder_ / "stop").string() + " ]; do sleep 0.05; done'";
  }
  [[nodiscard]] nlohmann::json line(const std::string& job, const std::string& name) const {
    const nlohmann::json reply = rubato("metrics " + job + " --json").json();
    for (const auto& each : reply.at("lines")) {
      if (each.at("name") == name) {
        return each;
      }
    }
    return {{"values", nlohmann::json::array()}};
  }
  static void await_until(const std::function<bool()>& is_so, const std::string& what) {
    for (int i = 0; i < 600 && !is_so(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ASSERT_TRUE(is_so()) << what;
  }
  [[nodiscard]] std::size_t count(const std::string& job, const std::string& name) const {
    return line(job, name).at("values").size();
  }
};

TEST_F(PlatformMetrics, APrintedNumberIsShownAtTheStepItBelongsTo) {
  ASSERT_EQ(rubato("run --detach --steps 20" + printing(20)).code, 0);
  await_until(
      [&] { return count("1", "loss") > 0 && line("1", "loss").at("values").back() == 80.5; },
      "the last line is told");

  const nlohmann::json loss = line("1", "loss");
  EXPECT_EQ(loss.at("steps").size(), loss.at("values").size());
  EXPECT_GE(loss.at("steps").back(), 15);
  const VerbOutcome table = rubato("metrics 1 --name loss");
  EXPECT_THAT(table.out, HasSubstr("METRIC"));
  EXPECT_THAT(table.out, HasSubstr("loss"));
  EXPECT_THAT(table.out, testing::Not(HasSubstr("acc")));
  EXPECT_EQ(rubato("metrics 1 --name los 2>/dev/null").code, 85);
  EXPECT_EQ(rubato("metrics 7 2>/dev/null").code, 85);
}

TEST_F(PlatformMetrics, MetricsOutliveTheDeathOfThePlatformAndGoOnWhileItIsAway) {
  ASSERT_EQ(rubato("run --detach --steps 60" + printing(60)).code, 0);
  await_until([&] { return count("1", "loss") >= 5; }, "some are told");

  end(SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  up();

  EXPECT_GE(count("1", "loss"), 5);
  await_until([&] { return line("1", "loss").at("values").back() == 40.5; }, "all are told");
  std::ifstream file(state_ / "jobs" / "1" / "logs" / "metrics");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(std::ranges::count(text, '\n'), 120) << "two metrics, each of 60 lines once";
}

TEST_F(PlatformMetrics, AnyProgramIsEndedWhenItsRuleComesTrue) {
  ASSERT_EQ(rubato("run --detach --steps 2000 --until \"loss < 95\"" +
                   printing(1000, "trap \"cat $RUBATO_PREEMPT_FILE; exit 3\" TERM; "))
                .code,
            0);
  // Whoever waits for the slots gets them at once.
  ASSERT_EQ(rubato("run --detach --steps 10 --workers 4" + std::string(kEmulated)).code, 0);

  ASSERT_TRUE(comes_to("1", "state", "SUCCEEDED"));

  EXPECT_THAT(field("1", "message"), HasSubstr("ended by --until loss < 95 (94.5 at step "));
  EXPECT_THAT(field("1", "message"), HasSubstr(" of at most 2000)"));
  EXPECT_EQ(field("1", "exit_code"), "0");
  EXPECT_LT(std::stod(field("1", "steps_done")), 1000);
  EXPECT_THAT(rubato("events").out, HasSubstr("ended by --until loss < 95"));
  EXPECT_THAT(rubato("logs 1").out, HasSubstr("ended by --until loss < 95"));
  EXPECT_TRUE(comes_to("2", "state", "SUCCEEDED"));
}

TEST_F(PlatformMetrics, PatienceWaitsForReportsInARow) {
  ASSERT_EQ(rubato("run --detach --steps 2000 --until \"loss < 95 for 4\"" + printing(1000)).code,
            0);

  ASSERT_TRUE(comes_to("1", "state", "SUCCEEDED"));

  EXPECT_THAT(field("1", "message"), HasSubstr("loss < 95 for 4 (91.5 at step "));
}

TEST_F(PlatformMetrics, AProgramWithOurRuntimeEndsAfterItsStep) {
  const std::string program =
      std::string(std::getenv("RUBATO_PROGRAMS")) + "/counting_trainer 5000 64 40 8 20000";
  ASSERT_EQ(
      rubato("run --detach --steps 3160 --speeds 1:10,2:19,4:35 --until \"lr >= 0.5\" -- sh -c "
             "'(sleep 2; echo lr=0.5) & exec " +
             program + "'")
          .code,
      0);

  ASSERT_TRUE(comes_to("1", "state", "SUCCEEDED")) << rubato("status 1").out;

  EXPECT_THAT(field("1", "message"), HasSubstr("ended by --until lr >= 0.5"));
}

TEST_F(PlatformMetrics, ARuleThatCannotBeReadIsRefusedWithWhatWasMeant) {
  const VerbOutcome wrong =
      rubato("run --detach --steps 10 --until \"accuracy => 0.9\" -- true 2>&1");
  EXPECT_EQ(wrong.code, 65);
  EXPECT_THAT(wrong.out, HasSubstr("--until: found 'accuracy => 0.9'"));
  EXPECT_THAT(wrong.out, HasSubstr("did you mean 'accuracy >= 0.9'?"));

  std::ofstream(folder_ / "job.yaml") << "command: [\"true\"]\nsteps: 10\nuntil: 0.9 < accuracy\n";
  const VerbOutcome file = rubato("submit " + (folder_ / "job.yaml").string() + " 2>&1");
  EXPECT_EQ(file.code, 65);
  EXPECT_THAT(file.out, HasSubstr("job.yaml:3: until:"));
}

/// The platform with one slot here; the test adds a machine with two, and they share no directory.
class RemoteMetrics : public PlatformMetrics {
 protected:
  void SetUp() override {
    flags_ = {"--slots", "1", "--agents", "127.0.0.1:0"};
    PlatformScene::SetUp();
    start_machine();
    await_until([&] { return rubato("node list").out.find("far") != std::string::npos; },
                "the machine joins");
  }
  void TearDown() override {
    end_machine(SIGTERM);
    PlatformMetrics::TearDown();
  }

  void start_machine() {
    const std::string mark = "agents join at ";
    const std::size_t begin = said_.find(mark) + mark.size();
    const std::string address = said_.substr(begin, said_.find('\n', begin) - begin);
    machine_ = ::fork();
    ASSERT_GE(machine_, 0);
    if (machine_ == 0) {
      (void)std::freopen((folder_ / "machine.errors").c_str(), "a", stderr);
      exec({std::getenv("RUBATO_BINARY"), "node", "add", "--controller", address, "--state",
            folder_ / "far", "--name", "far", "--slots", "2"});
    }
  }
  void end_machine(int signal) {
    if (machine_ > 0) {
      ::kill(machine_, signal);
      ::waitpid(machine_, nullptr, 0);
      machine_ = -1;
    }
  }

 private:
  pid_t machine_ = -1;
};

TEST_F(RemoteMetrics, MetricsOfAJobElsewhereAreToldKeptAndToldAgain) {
  std::string command = printing(60);
  command.replace(command.find("--workers 1"), 11, "--workers 2");
  command.replace(command.find("--speeds 1:10"), 13, "--speeds 2:10");
  ASSERT_EQ(rubato("run --detach --steps 60" + command).code, 0);
  await_until([&] { return count("1", "loss") >= 5; }, "some are told");
  EXPECT_FALSE(std::filesystem::exists(state_ / "jobs" / "1" / "logs" / "metrics"));
  EXPECT_TRUE(std::filesystem::exists(state_ / "metrics" / "1"));

  end_machine(SIGKILL);  // The job trains on and its metrics wait in its directory.
  const std::size_t before = count("1", "loss");
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  start_machine();

  await_until([&] { return line("1", "loss").at("values").back() == 40.5; }, "the rest is told");
  EXPECT_GT(count("1", "loss"), before);
}

}  // namespace
}  // namespace rubato
