#include "rubato/launch/logs/process_output.h"

#include <array>
#include <chrono>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

namespace rubato {
namespace {

constexpr std::size_t kListingMax = std::size_t{1} << 20U;

bool is_readable_by(int descriptor, std::chrono::steady_clock::time_point end) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
  return left.count() > 0 && ::poll(&ready, 1, static_cast<int>(left.count())) == 1;
}

}  // namespace

Result<std::string> output_of(const ProcessSpec& spec, Duration patience) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{.code = ErrorCode::Io, .message = "no pipe"};
  }
  const Descriptor from(ends[0]);
  Descriptor into(ends[1]);
  ProcessSpec piped = spec;
  piped.output = into.get();
  piped.errors = into.get();
  auto process = Process::start(piped);
  if (!process) {
    return process.error();
  }
  into = Descriptor();
  const auto end = std::chrono::steady_clock::now() + patience;
  const Error silence{.code = ErrorCode::Io,
                      .message = fmt::format("{} does not answer", spec.argv.front())};
  std::string text;
  std::array<char, 4096> some{};
  while (text.size() < kListingMax) {
    if (!is_readable_by(from.get(), end)) {
      return silence;
    }
    const ssize_t got = ::read(from.get(), some.data(), some.size());
    if (got <= 0) {
      break;
    }
    text.append(some.data(), static_cast<std::size_t>(got));
  }
  if (!is_readable_by(process->descriptor(), end)) {
    return silence;
  }
  const ExitStatus status = process->kill_and_reap();
  if (status != ExitStatus{}) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("{} failed: {}", spec.argv.front(),
                                        text.substr(0, text.find('\n')))};
  }
  return text;
}

}  // namespace rubato
