// What a worker says: into its own file, to the terminal if wanted, and the end of it in memory,
// where it explains why the worker ended.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/launch/logs/line_cutter.h"
#include "rubato/launch/logs/line_echo.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

struct RankLogOptions {
  std::string path{};    // Appended to; empty: no file.
  std::string prefix{};  // Before each line on the terminal.
  std::size_t line_max = std::size_t{64} << 10U;
  std::size_t tail_max = std::size_t{16} << 10U;
  std::function<void(std::string_view)> on_line{};  // Hears each line with its end; may be absent.
};

/// Where the lines of the two streams are shown; they may be the same, or absent.
struct LineEchoes {
  LineEcho* output = nullptr;
  LineEcho* errors = nullptr;
};

/// Reads the two streams of one worker through pipes. Lines are never mixed with each other. The
/// pipes are emptied whatever happens to file and terminal, so the worker never waits for us.
class RankLog {
 public:
  [[nodiscard]] static Result<RankLog> open(RankLogOptions options);

  /// For the worker; closed by `close_worker_ends` once it has them.
  [[nodiscard]] int output() const { return worker_ends_[0].get(); }
  [[nodiscard]] int errors() const { return worker_ends_[1].get(); }
  void close_worker_ends() { worker_ends_ = {}; }

  /// To poll for reading; -1 once that stream has ended.
  [[nodiscard]] std::array<int, 2> descriptors() const {
    return {streams_[0].get(), streams_[1].get()};
  }

  /// Takes what has arrived, up to a limit, so that a worker who never stops talking does not keep
  /// us from the others. True if there may be more.
  bool drain(const LineEchoes& echoes);
  bool drain(LineEcho* echo) { return drain({.output = echo, .errors = echo}); }
  /// The worker has ended: takes the rest, and half a line as a whole one.
  void finish(const LineEchoes& echoes);
  void finish(LineEcho* echo) { finish({.output = echo, .errors = echo}); }

  /// The last lines, as they came.
  [[nodiscard]] std::string_view tail() const { return tail_; }
  /// Why the file does not hold everything; empty while it does.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  explicit RankLog(RankLogOptions options)
      : options_(std::move(options)),
        cutters_{LineCutter(options_.line_max), LineCutter(options_.line_max)} {}

  [[nodiscard]] bool read_some(std::size_t stream, LineEcho* echo);
  void take(std::string_view line, LineEcho* echo);
  void store(std::string_view line);

  RankLogOptions options_;
  Descriptor file_{};
  std::array<Descriptor, 2> streams_{};
  std::array<Descriptor, 2> worker_ends_{};
  std::array<LineCutter, 2> cutters_;
  std::string tail_{};
  std::string problem_{};
  bool is_line_torn_ = false;  // The file ends within a line, because it could not be written.
};

}  // namespace rubato
