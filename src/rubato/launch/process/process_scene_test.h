// What tests on real processes share: pipes to read words from, and waiting without sleeping.
#pragma once

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rubato/launch/process/process.h"

namespace rubato {

/// A pipe whose ends are closed one by one.
struct TestPipe {
  TestPipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read_end = Descriptor(ends[0]);
    write_end = Descriptor(ends[1]);
  }

  /// All that is written until the last writer closes its end.
  std::string read_all() {
    write_end = Descriptor();
    std::string text;
    std::array<char, 4096> part{};
    while (true) {
      const ssize_t got = ::read(read_end.get(), part.data(), part.size());
      if (got > 0) {
        text.append(part.data(), static_cast<std::size_t>(got));
      } else if (got == 0 || errno != EINTR) {
        return text;
      }
    }
  }

  /// One line, without its end; what there is at the end of the input.
  std::string read_line() {
    std::string line;
    char letter = 0;
    while (::read(read_end.get(), &letter, 1) == 1 && letter != '\n') {
      line += letter;
    }
    return line;
  }

  Descriptor read_end{};
  Descriptor write_end{};
};

/// Blocks until the descriptor is readable; the test's own time limit ends a wait in vain.
inline void wait_readable(int descriptor) {
  pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
  while (::poll(&watched, 1, -1) < 0 && errno == EINTR) {
  }
}

inline ExitStatus wait_exit(Process& process) {
  wait_readable(process.descriptor());
  const auto status = process.poll_exit();
  EXPECT_TRUE(status.has_value());
  return status.value_or(ExitStatus{.code = -1});
}

/// A folder that is removed with the test.
class TestFolder {
 public:
  explicit TestFolder(const std::string& name)
      : path_(std::filesystem::absolute("build") / (name + "." + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string at(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string path() const { return path_.string(); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return at(name);
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace rubato
