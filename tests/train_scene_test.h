// What tests of `rubato train` share: a job of the real program, in a folder of its own. They find
// the program in RUBATO_BINARY and the training programs in the folder RUBATO_PROGRAMS.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rubato {

/// Of the parameters of counting_trainer 5000 64 4 8, whatever happened to its workers.
inline constexpr const char* kUndisturbedHash = "526168114823047f";

/// What became of a job.
struct TrainOutcome {
  int code = -1;
  nlohmann::json report{};
  std::string out{};
  std::string errors{};
};

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Runs jobs; their temporary files lie in the test's folder, which must be empty of them at the
/// end of each job.
class TrainScene : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::to_string(::getpid()) + "-" + info->name());
    std::filesystem::create_directories(folder_ / "tmp");
    for (const char* name : {"RUBATO_BINARY", "RUBATO_PROGRAMS"}) {
      ASSERT_NE(std::getenv(name), nullptr) << name << " is not set";
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  /// 5000 samples in batches of 64, deterministic: 79 steps an epoch, 316 in all.
  static std::vector<std::string> counting(const std::string& step_microseconds = "1000") {
    return {std::string(std::getenv("RUBATO_PROGRAMS")) + "/counting_trainer",
            "5000",
            "64",
            "4",
            "8",
            step_microseconds};
  }
  static std::vector<std::string> shell(const std::string& text) { return {"sh", "-c", text}; }

  /// Starts `rubato train` with these flags and this program.
  pid_t start(std::vector<std::string> flags, const std::vector<std::string>& program) {
    std::vector<std::string> words{std::getenv("RUBATO_BINARY"), "train"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.emplace_back("--");
    words.insert(words.end(), program.begin(), program.end());
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    const std::string out = path("out");
    const std::string errors = path("errors");
    const std::string temporary = path("tmp");
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("TMPDIR", temporary.c_str(), 1);
      ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
      ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    return child;
  }

  /// Waits for the end of a job.
  TrainOutcome finish(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    TrainOutcome outcome{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                         .report = nlohmann::json::parse(text_of_file(path("out")), nullptr, false),
                         .out = text_of_file(path("out")),
                         .errors = text_of_file(path("errors"))};
    if (WIFEXITED(status)) {
      EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp")) << "temporary files are left";
    }
    return outcome;
  }

  TrainOutcome train(std::vector<std::string> flags, const std::vector<std::string>& program) {
    flags.insert(flags.begin(), "--json");
    return finish(start(std::move(flags), program));
  }

  /// The report of a job that must have succeeded, with all its steps and the parameters that one
  /// undisturbed worker gets.
  nlohmann::json trained(std::vector<std::string> flags, const std::string& step = "1000") {
    const TrainOutcome outcome = train(std::move(flags), counting(step));
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.errors;
    if (outcome.report.is_discarded()) {
      return {};
    }
    EXPECT_EQ(outcome.report["outcome"], "finished");
    EXPECT_EQ(outcome.report["steps"], 316);
    EXPECT_EQ(outcome.report["hashes_agree"], true);
    EXPECT_EQ(outcome.report["parameter_hash"], kUndisturbed);
    return outcome.report;
  }

  /// Waits until the condition holds; the time limit of the test ends a wait in vain.
  template <typename Condition>
  static void wait_until(const Condition& holds) {
    while (!holds()) {
      ::poll(nullptr, 0, 1);
    }
  }

  // A pipe with a name: whoever reads it sees its end when the last process that writes to it is
  // gone.
  std::string make_pipe(const std::string& name) {
    EXPECT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
    return path(name);
  }

  // What one worker gets, on any machine: the sums are exact to the bit.
  static constexpr const char* kUndisturbed = kUndisturbedHash;

  std::filesystem::path folder_;
};

/// Steps lost over all generations.
inline int lost_steps(const nlohmann::json& report) {
  int lost = 0;
  for (const auto& generation : report["generations"]) {
    lost += generation["lost_steps"].get<int>();
  }
  return lost;
}

/// The largest generation that trained.
inline std::size_t most_workers(const nlohmann::json& report) {
  std::size_t most = 0;
  for (const auto& generation : report["generations"]) {
    if (generation["first_step_seconds"].get<double>() > 0) {
      most = std::max(most, generation["members"].size());
    }
  }
  return most;
}

}  // namespace rubato
