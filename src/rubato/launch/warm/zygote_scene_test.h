// A zygote of the system's Python for tests, and the cold start that it is compared with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rubato/launch/process/process_scene_test.h"
#include "rubato/launch/warm/zygote.h"

namespace rubato {

constexpr const char* kSystemPython = "/usr/bin/python3";

/// What a script said and how it ended.
struct ScriptRun {
  std::string output{};
  std::string errors{};
  ExitStatus status{};
};

/// Starts one script after the other, cold or warm.
class ZygoteScene {
 public:
  explicit ZygoteScene(std::vector<std::string> modules = {"json"}, Environment extra = {})
      : environment_(overridden({{"PATH", "/usr/bin:/bin"}, {"HOME", "/"}}, extra)) {
    spec_ = {.key = {.interpreter = kSystemPython},
             .environment = environment_,
             .modules = std::move(modules)};
  }

  [[nodiscard]] static bool has_python() { return ::access(kSystemPython, X_OK) == 0; }

  ZygoteSpec& spec() { return spec_; }
  Environment& environment() { return environment_; }

  Zygote& zygote() {
    if (!zygote_) {
      auto started = Zygote::start(spec_);
      EXPECT_TRUE(started.ok()) << started.error().message;
      zygote_.emplace(std::move(*started));
      ready_ = next();
    }
    return *zygote_;
  }

  /// Blocks for the next news.
  ZygoteNews next() {
    while (waiting_.empty()) {
      wait_readable(zygote_->descriptor());
      waiting_ = zygote_->receive();
    }
    ZygoteNews news = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    return news;
  }

  [[nodiscard]] const ZygoteNews& ready() {
    zygote();
    return ready_;
  }

  [[nodiscard]] ProcessSpec process(std::vector<std::string> argv, const std::string& directory) {
    return {.argv = std::move(argv), .environment = environment_, .directory = directory};
  }

  ScriptRun cold(ProcessSpec spec) {
    TestPipe output;
    TestPipe errors;
    spec.output = output.write_end.get();
    spec.errors = errors.write_end.get();
    auto process = Process::start(spec);
    EXPECT_TRUE(process.ok()) << process.error().message;
    ScriptRun run{.output = output.read_all(), .errors = errors.read_all()};
    run.status = wait_exit(*process);
    return run;
  }

  ScriptRun warm(ProcessSpec spec) {
    TestPipe output;
    TestPipe errors;
    spec.output = output.write_end.get();
    spec.errors = errors.write_end.get();
    const ZygoteNews started = start(spec);
    EXPECT_EQ(started.word, ZygoteWord::Started) << started.why;
    zygote().go();
    ScriptRun run{.output = output.read_all(), .errors = errors.read_all()};
    run.status = end(started.pid);
    return run;
  }

  /// Asks for a worker; the answer.
  ZygoteNews start(const ProcessSpec& spec) {
    std::size_t script = 1;
    while (spec.argv[script] == "-u") {
      ++script;
    }
    const Status asked = zygote().request({.token = ++token_, .process = spec, .script = script});
    EXPECT_TRUE(asked.ok());
    ZygoteNews news = next();
    EXPECT_EQ(news.token, token_);
    return news;
  }

  ExitStatus end(pid_t pid) {
    const ZygoteNews ended = next();
    EXPECT_EQ(ended.word, ZygoteWord::Ended);
    EXPECT_EQ(ended.pid, pid);
    zygote().reap(pid);
    return ended.status;
  }

 private:
  Environment environment_;
  ZygoteSpec spec_{};
  std::optional<Zygote> zygote_{};
  ZygoteNews ready_{};
  std::vector<ZygoteNews> waiting_{};
  std::uint64_t token_ = 0;
};

}  // namespace rubato
