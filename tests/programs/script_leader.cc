// Plays the leader of a script job without Python: takes steps, forks replicas that do nothing, and
// obeys as a leader must. Its state is the number of steps, so a snapshot is that number as text.
//
//   script_leader STEPS STEP_MICROSECONDS [WORD...]
//
//   exit=CODE     with which it ends
//   busy-at=STEP  once the step is reached, looks at no order until a replica has been killed
//   crash-at=STEP raises SIGSEGV there, each time
//   copies=STEPS  is watched by a process that lets a sleeping copy go on, made every so many steps
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "rubato/runtime/script/script_link.h"

namespace rubato {
namespace {

using runtime::script::ScriptLink;

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::uint64_t number_from_environment(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : number_of(text);
}

/// What the holder and all leaders see: which process sleeps, and whether it shall wake.
struct SharedPage {
  std::atomic<pid_t> copy = 0;   // That sleeps.
  std::atomic<pid_t> awake = 0;  // That was told to go on.
};

class Leader {
 public:
  Leader(std::map<std::string, std::uint64_t, std::less<>> words, SharedPage* page)
      : words_(std::move(words)), page_(page) {}

  int run(std::uint64_t steps, std::chrono::microseconds pause) {
    auto link = ScriptLink::connect({.socket = std::getenv("RUBATO_CONDUCTOR"),
                                     .worker = number_from_environment("RUBATO_WORKER"),
                                     .token = number_from_environment("RUBATO_TOKEN")});
    if (!link) {
      std::fprintf(stderr, "%s\n", link.error().message.c_str());
      return 1;
    }
    link_ = std::move(*link);
    if (const auto state = link_->resume_state(); state && *state) {
      step_ = number_of(**state);
    }
    std::printf("begins at step %llu\n", static_cast<unsigned long long>(step_));
    std::fflush(stdout);
    while (step_ < steps) {
      if (!boundary()) {
        return 0;
      }
      std::this_thread::sleep_for(pause);
      ++step_;
      if (step_ == words_["crash-at"]) {
        std::raise(SIGSEGV);
      }
      link_->report_step(step_, 1.0 / static_cast<double>(step_));
    }
    set_replicas(0);
    link_->report_finished({.step = step_, .parameter_hash = step_ * step_});
    link_->close();
    std::printf("ends at step %llu\n", static_cast<unsigned long long>(step_));
    return static_cast<int>(words_["exit"]);
  }

 private:
  // Between two steps. False: the job goes on without us.
  bool boundary() {
    if (words_["copies"] > 0 && step_ > 0 && step_ % words_["copies"] == 0) {
      make_copy();
    }
    const bool was_lost = reap();
    if (words_["busy-at"] > 0 && step_ >= words_["busy-at"] && !replicas_.empty() && !was_lost) {
      return true;
    }
    const auto wanted = static_cast<std::size_t>(link_->wanted().workers) - 1;
    if (was_lost || wanted != replicas_.size()) {
      set_replicas(wanted);
      link_->report_resize({.workers = static_cast<int>(1 + replicas_.size()),
                            .step = step_,
                            .cause = was_lost ? "a replica was lost" : "",
                            .pids = replicas_,
                            .is_forced = was_lost});
    }
    if (link_->take_snapshot_request()) {
      write_snapshot();
    }
    if (link_->wants_suspend()) {
      set_replicas(0);
      write_snapshot();
      link_->report_suspended(step_);
      return link_->wait_resume();
    }
    return link_->exit_reason().empty();
  }

  void write_snapshot() {
    const std::string state = std::to_string(step_);
    if (const Status written = link_->write_snapshot(step_, std::as_bytes(std::span(state)));
        !written) {
      std::fprintf(stderr, "%s\n", written.error().message.c_str());
    }
  }

  // True if a replica has died.
  bool reap() {
    return std::erase_if(replicas_,
                         [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) == pid; }) > 0;
  }

  void set_replicas(std::size_t count) {
    while (replicas_.size() > count) {
      ::kill(replicas_.back(), SIGKILL);
      ::waitpid(replicas_.back(), nullptr, 0);
      replicas_.pop_back();
    }
    while (replicas_.size() < count) {
      replicas_.push_back(start_child([] {
        while (true) {
          ::pause();
        }
      }));
    }
    link_->set_replicas(replicas_);
  }

  template <typename Work>
  static pid_t start_child(const Work& work) {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) {
        ::_exit(1);
      }
      work();
      ::_exit(0);
    }
    return child;
  }

  // The copy sleeps here, and goes on from here.
  void make_copy() {
    const pid_t copy = ::fork();
    if (copy != 0) {
      // We may be killed at any moment, so the old copy stays until there is a new one.
      const pid_t old = page_->copy.exchange(copy);
      if (old != 0) {
        ::kill(old, SIGKILL);
        ::waitpid(old, nullptr, 0);
      }
      return;
    }
    while (page_->awake != ::getpid()) {
      ::usleep(200);
    }
    page_->copy = 0;
    replicas_.clear();
    if (!link_->after_fork()) {
      ::_exit(1);
    }
    std::printf("a copy goes on at step %llu\n", static_cast<unsigned long long>(step_));
    std::fflush(stdout);
  }

  std::map<std::string, std::uint64_t, std::less<>> words_;
  SharedPage* page_;
  std::unique_ptr<ScriptLink> link_{};
  std::uint64_t step_ = 0;
  std::vector<pid_t> replicas_{};
};

// Returns in the leader; ends as the leader ends, unless a copy can go on.
void hold(SharedPage& page) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t leader = ::fork();
  if (leader == 0) {
    return;
  }
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended != leader) {
      continue;
    }
    if (WIFSIGNALED(status) && page.copy != 0) {
      leader = page.copy;
      page.awake = leader;
    } else {
      ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
  }
}

int lead(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: script_leader STEPS STEP_MICROSECONDS [WORD=NUMBER...]\n");
    return 2;
  }
  std::map<std::string, std::uint64_t, std::less<>> words;
  for (int i = 3; i < count; ++i) {
    const std::string_view word = arguments[i];
    const std::size_t equals = word.find('=');
    words[std::string(word.substr(0, equals))] = number_of(word.substr(equals + 1));
  }
  void* const memory = ::mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const page = new (memory) SharedPage();
  if (words["copies"] > 0) {
    hold(*page);
  }
  return Leader(words, page)
      .run(number_of(arguments[1]), std::chrono::microseconds(number_of(arguments[2])));
}

}  // namespace
}  // namespace rubato

int main(int count, char** arguments) { return rubato::lead(count, arguments); }
