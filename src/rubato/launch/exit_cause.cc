#include "rubato/launch/exit_cause.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

namespace rubato {
namespace {

constexpr int kShellSignalBase = 128;    // A shell adds the signal to this.
constexpr std::size_t kDetailMax = 500;  // Bytes of a program's own words that we repeat.

// Words by which programs say that an allocation failed.
constexpr std::array<std::string_view, 7> kMemoryWords{
    "MemoryError",           "std::bad_alloc",         "not enough memory",
    "can't allocate memory", "Cannot allocate memory", "out of memory",
    "OutOfMemoryError"};

constexpr std::string_view kTraceback = "Traceback (most recent call last):";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
      line.remove_suffix(1);
    }
    lines.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// The exception of the last traceback: its first line that is not indented. Empty if there is none.
std::string_view last_exception(const std::vector<std::string_view>& lines) {
  const auto last = std::find_if(lines.rbegin(), lines.rend(),
                                 [](std::string_view line) { return line.ends_with(kTraceback); });
  if (last == lines.rend()) {
    return {};
  }
  const auto found = std::find_if(last.base(), lines.end(), [](std::string_view line) {
    return !line.empty() && line.front() != ' ';
  });
  return found == lines.end() ? std::string_view{} : *found;
}

std::string_view last_words(const std::vector<std::string_view>& lines) {
  const auto found = std::find_if(lines.rbegin(), lines.rend(),
                                  [](std::string_view line) { return !line.empty(); });
  return found == lines.rend() ? std::string_view{} : *found;
}

bool speaks_of_memory(std::string_view line) {
  return std::ranges::any_of(kMemoryWords, [line](std::string_view words) {
    return line.find(words) != std::string_view::npos;
  });
}

// The line in which a C++ program that aborted says that memory was short. Empty if it does not.
std::string_view abort_for_memory(const std::vector<std::string_view>& lines) {
  const auto found = std::find_if(lines.rbegin(), lines.rend(), [](std::string_view line) {
    return line.find("terminate called") != std::string_view::npos && speaks_of_memory(line);
  });
  return found == lines.rend() ? std::string_view{} : *found;
}

bool was_sent(const ExitEvidence& evidence, int signal) {
  return std::ranges::find(evidence.signals_sent, signal) != evidence.signals_sent.end();
}

// The signal that ended the worker, or the program inside it whose shell passed the code on.
int effective_signal(ExitStatus status) {
  if (status.signal != 0) {
    return status.signal;
  }
  const bool is_shells = status.code > kShellSignalBase && status.code < kShellSignalBase + NSIG;
  return is_shells ? status.code - kShellSignalBase : 0;
}

std::string cut(std::string_view words) {
  return std::string(words.substr(0, std::min(words.size(), kDetailMax)));
}

ExitCause by_signal(ExitStatus status, int signal, const std::vector<std::string_view>& lines,
                    const ExitEvidence& evidence) {
  const auto cause = [&](ExitKind kind, std::string detail) {
    return ExitCause{.kind = kind, .status = status, .detail = std::move(detail)};
  };
  if (was_sent(evidence, signal)) {
    return cause(ExitKind::KilledByUs, signal_name(signal));
  }
  if (signal == SIGKILL && evidence.oom_kills > 0) {
    return cause(ExitKind::OutOfMemory, "the kernel ended it because memory ran out");
  }
  if (signal == SIGKILL && status.signal == 0 && last_words(lines).ends_with("Killed")) {
    return cause(ExitKind::OutOfMemory, "its shell says 'Killed': most likely memory ran out");
  }
  if (const auto words = abort_for_memory(lines); signal == SIGABRT && !words.empty()) {
    return cause(ExitKind::OutOfMemory, cut(words));
  }
  return cause(ExitKind::Signal, signal_name(signal));
}

ExitCause by_code(ExitStatus status, const std::vector<std::string_view>& lines) {
  std::string_view words = last_exception(lines);
  if (words.empty()) {
    words = last_words(lines);
  }
  return ExitCause{.kind = speaks_of_memory(words) ? ExitKind::OutOfMemory : ExitKind::UserError,
                   .status = status,
                   .detail = cut(words)};
}

std::string_view kind_name(ExitKind kind) {
  switch (kind) {
    case ExitKind::Finished:
      return "finished";
    case ExitKind::UserError:
      return "user error";
    case ExitKind::Requeue:
      return "state saved, to be started again";
    case ExitKind::OutOfMemory:
      return "out of memory";
    case ExitKind::Signal:
      return "ended by a signal";
    case ExitKind::KilledByUs:
      return "ended on our request";
    case ExitKind::Lost:
      return "lost";
  }
  return "unknown";
}

}  // namespace

std::string_view exit_word(ExitKind kind) {
  switch (kind) {
    case ExitKind::Finished:
      return "finished";
    case ExitKind::UserError:
      return "user_error";
    case ExitKind::Requeue:
      return "requeue";
    case ExitKind::OutOfMemory:
      return "out_of_memory";
    case ExitKind::Signal:
      return "signal";
    case ExitKind::KilledByUs:
      return "killed";
    case ExitKind::Lost:
      return "lost";
  }
  return "unknown";
}

ExitCause exit_cause(ExitStatus status, std::string_view log_tail, const ExitEvidence& evidence) {
  if (!evidence.lost.empty()) {
    return ExitCause{.kind = ExitKind::Lost, .status = status, .detail = evidence.lost};
  }
  if (status == ExitStatus{}) {
    return ExitCause{.kind = ExitKind::Finished, .status = status};
  }
  if (status.signal == 0 && status.code == kExitRequeue) {
    return ExitCause{.kind = ExitKind::Requeue, .status = status};
  }
  const std::vector<std::string_view> lines = lines_of(log_tail);
  if (const int signal = effective_signal(status); signal != 0) {
    return by_signal(status, signal, lines, evidence);
  }
  return by_code(status, lines);
}

std::string describe(const ExitCause& cause) {
  std::string text(kind_name(cause.kind));
  if (cause.kind != ExitKind::Lost && cause.status.signal == 0 && cause.status.code != 0) {
    text += fmt::format(" (exit code {})", cause.status.code);
  }
  if (!cause.detail.empty()) {
    text += ": " + cause.detail;
  }
  return text;
}

int shell_code(const ExitStatus& status) {
  return status.signal != 0 ? kShellSignalBase + status.signal : status.code;
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

}  // namespace rubato
