#include "rubato/cli/simulate/isolated_runs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <list>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "rubato/cli/simulate/peak_memory.h"

namespace rubato {
namespace {

using RunClock = std::chrono::steady_clock;

constexpr std::size_t kWordsMax = 1024;  // Of an error, and of what a child said last.
constexpr int kPollMilliseconds = 200;   // Between two looks at the clock.
constexpr double kGrace = 0.25;          // Seconds a child has to notice its limit itself.

enum class Kind { Progress, Done, Failed };

/// What a child sends. Short enough for a pipe to take it whole or not at all.
struct Message {
  Kind kind = Kind::Progress;
  std::size_t done = 0;
  std::size_t all = 0;
  RunNumbers numbers{};
  ErrorCode code = ErrorCode::BadInput;
  std::array<char, kWordsMax> words{};
};
static_assert(std::is_trivially_copyable_v<Message> && sizeof(Message) <= PIPE_BUF);

struct Child {
  std::size_t index = 0;
  pid_t pid = -1;
  int messages = -1;  // Read ends.
  int complaints = -1;
  RunClock::time_point start{};
  std::string last_words{};
  bool is_over = false;  // Its result has come.
};

void send(int pipe, const Message& message) {
  const char* from = reinterpret_cast<const char*>(&message);  // NOLINT: plain bytes
  std::size_t left = sizeof(Message);
  while (left > 0) {
    const ssize_t sent = write(pipe, from, left);
    if (sent < 0 && errno != EINTR) {
      _exit(1);  // The parent is gone; nobody wants the result.
    }
    from += std::max<ssize_t>(sent, 0);
    left -= static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
  }
}

// Never returns: the child has nothing to do with what the parent does next.
[[noreturn]] void be_child(const IsolatedRuns& runs, std::size_t index, int messages) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
  auto result = runs.work(index, [messages](std::size_t done, std::size_t all) {
    send(messages, Message{.kind = Kind::Progress, .done = done, .all = all});
  });
  Message last{.kind = result ? Kind::Done : Kind::Failed};
  if (result) {
    last.numbers = *result;
    last.numbers.peak_rss_bytes = peak_rss_bytes();
  } else {
    last.code = result.error().code;
    const std::string& words = result.error().message;
    words.copy(last.words.data(), std::min(words.size(), kWordsMax - 1));
  }
  send(messages, last);
  _exit(0);
}

Error cannot_start() {
  return Error{.code = ErrorCode::Io,
               .message = fmt::format("no process could be started: {}", std::strerror(errno))};
}

Result<Child> start(const IsolatedRuns& runs, std::size_t index) {
  std::array<int, 2> messages{};
  std::array<int, 2> complaints{};
  if (pipe(messages.data()) != 0) {
    return cannot_start();
  }
  if (pipe(complaints.data()) != 0) {
    close(messages[0]);
    close(messages[1]);
    return cannot_start();
  }
  std::fflush(nullptr);  // Or the child would say again what is still to be written.
  const pid_t pid = fork();
  if (pid == 0) {
    close(messages[0]);
    close(complaints[0]);
    dup2(complaints[1], STDERR_FILENO);
    be_child(runs, index, messages[1]);
  }
  close(messages[1]);
  close(complaints[1]);
  if (pid < 0) {
    const Error error = cannot_start();
    close(messages[0]);
    close(complaints[0]);
    return error;
  }
  return Child{.index = index,
               .pid = pid,
               .messages = messages[0],
               .complaints = complaints[0],
               .start = RunClock::now()};
}

// Passes one message on; false when there will be none any more.
bool receive(Child& child, const IsolatedRuns& runs) {
  Message message;
  char* to = reinterpret_cast<char*>(&message);  // NOLINT: plain bytes
  std::size_t have = 0;
  while (have < sizeof(Message)) {
    const ssize_t got = read(child.messages, to + have, sizeof(Message) - have);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return false;
    }
    have += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
  if (message.kind == Kind::Progress) {
    if (runs.on_progress) {
      runs.on_progress(child.index, message.done, message.all);
    }
    return true;
  }
  child.is_over = true;
  if (message.kind == Kind::Done) {
    runs.on_result(child.index, message.numbers);
  } else {
    runs.on_result(child.index, Error{.code = message.code, .message = message.words.data()});
  }
  return true;
}

void listen(Child& child) {
  std::array<char, kWordsMax> text{};
  const ssize_t got = read(child.complaints, text.data(), text.size());
  if (got <= 0) {
    close(std::exchange(child.complaints, -1));
    return;
  }
  child.last_words.append(text.data(), static_cast<std::size_t>(got));
  if (child.last_words.size() > kWordsMax) {
    child.last_words.erase(0, child.last_words.size() - kWordsMax);
  }
}

// The last line that says anything.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

// Takes leave of a child; says why it ended if it did not.
void bury(Child& child, const IsolatedRuns& runs, std::string why) {
  close(child.messages);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  while (child.complaints >= 0) {
    listen(child);
  }
  if (child.is_over) {
    return;
  }
  if (why.empty()) {
    why = last_line(child.last_words);
  }
  if (why.empty()) {
    why = WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status))
                              : fmt::format("ended with code {}", WEXITSTATUS(status));
  }
  runs.on_result(child.index, Error{.code = ErrorCode::BadConfig, .message = std::move(why)});
}

bool is_too_slow(const Child& child, const IsolatedRuns& runs) {
  return runs.limit_seconds > 0 &&
         std::chrono::duration<double>(RunClock::now() - child.start).count() >
             runs.limit_seconds + kGrace;
}

// Waits for the next word of anyone; false if this child is over.
bool attend(Child& child, const IsolatedRuns& runs, short messages, short complaints) {
  if (complaints != 0 && child.complaints >= 0) {
    listen(child);
  }
  if (messages != 0 && !receive(child, runs)) {
    bury(child, runs, "");
    return false;
  }
  if (is_too_slow(child, runs)) {
    kill(child.pid, SIGKILL);
    bury(child, runs, fmt::format("was stopped after {} s", runs.limit_seconds));
    return false;
  }
  return true;
}

}  // namespace

void run_isolated(const IsolatedRuns& runs) {
  std::list<Child> children;
  std::size_t next = 0;
  while (next < runs.count || !children.empty()) {
    while (next < runs.count && children.size() < std::max<std::size_t>(1, runs.at_once)) {
      auto child = start(runs, next);
      if (child) {
        children.push_back(*std::move(child));
      } else {
        runs.on_result(next, child.error());
      }
      ++next;
    }
    std::vector<pollfd> ends;
    for (const Child& child : children) {
      ends.push_back({.fd = child.messages, .events = POLLIN, .revents = 0});
      ends.push_back({.fd = child.complaints, .events = POLLIN, .revents = 0});
    }
    poll(ends.data(), ends.size(), kPollMilliseconds);
    auto end = ends.begin();
    children.remove_if([&](Child& child) {
      const short messages = (end++)->revents;
      const short complaints = (end++)->revents;
      return !attend(child, runs, messages, complaints);
    });
  }
}

}  // namespace rubato
