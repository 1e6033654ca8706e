// What tests of the whole platform share: `rubato up` in a process of its own, and the verbs.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "conductors_test.h"

namespace rubato {

/// What a verb said.
struct VerbOutcome {
  int code = -1;
  std::string out{};

  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

class PlatformScene : public testing::Test {
 protected:
  void SetUp() override {
    make_folders();
    up();
  }
  void make_folders() {
    ASSERT_NE(std::getenv("RUBATO_BINARY"), nullptr);
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::to_string(::getpid()) + "-" + name.substr(0, 20));
    // Longer than the path of a socket may be: users have such directories.
    state_ = folder_ / ("state" + std::string(150, '-'));
    std::filesystem::create_directories(state_);
  }
  void TearDown() override {
    end(SIGTERM);
    kill_conductors_of(folder_);
    // Again while workers that have not noticed yet write into it.
    std::error_code failure;
    for (int i = 0; i < 100 && std::filesystem::exists(folder_); ++i) {
      std::filesystem::remove_all(folder_, failure);
      std::this_thread::sleep_for(std::chrono::milliseconds(failure ? 20 : 0));
    }
  }

  /// Starts the platform and waits until it says where it listens.
  void up() {
    const std::filesystem::path said = folder_ / "up.log";
    std::filesystem::remove(said);
    pid_ = ::fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      (void)std::freopen(said.c_str(), "w", stdout);
      (void)std::freopen((folder_ / "up.errors").c_str(), "a", stderr);
      enter_world();
      std::vector<std::string> words{
          std::getenv("RUBATO_BINARY"), "up", "--port", "0", "--state", state_};
      words.insert(words.end(), flags_.begin(), flags_.end());
      exec(words);
    }
    for (int i = 0; i < 600; ++i) {
      std::ifstream file(said);
      std::string text((std::istreambuf_iterator<char>(file)), {});
      const std::size_t at = text.find("http");
      if (at != std::string::npos && text.find("state in", at) != std::string::npos) {
        server_ = text.substr(at, text.find('\n', at) - at);
        said_ = text;
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
        "RUBATO_SERVER=" + server_ + " " + std::getenv("RUBATO_BINARY") + " " + words + verb_flags_;
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

  [[nodiscard]] std::filesystem::path folder() const { return folder_; }
  [[nodiscard]] const std::string& server() const { return server_; }

  /// In the place of this process; does not return.
  [[noreturn]] static void exec(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) {
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }

  static constexpr const char* kEmulated =
      " --kind emulated --model pretended --speeds 1:10,2:19,4:35 ";

  /// In the process that becomes the platform.
  virtual void enter_world() const {}

  std::filesystem::path folder_{};
  std::filesystem::path state_{};
  std::vector<std::string> flags_{"--slots", "4"};
  std::string said_{};  // By the platform when it came up.
  std::string server_{};
  std::string verb_flags_{};  // For every verb.

 private:
  pid_t pid_ = -1;
};

}  // namespace rubato
