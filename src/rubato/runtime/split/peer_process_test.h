// Processes for tests: a peer that shares memory with the test, and that can be killed.
#pragma once

#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace rubato::runtime::split {

/// A fork of the test. It is killed and reaped at the latest when this object ends.
class PeerProcess {
 public:
  explicit PeerProcess(const std::function<int()>& work) : pid_(::fork()) {
    if (pid_ == 0) {
      ::_exit(work());
    }
  }
  ~PeerProcess() { kill(); }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      join();
    }
  }

  /// What the work returned; -1 if it was killed.
  int join() {
    int status = 0;
    while (pid_ > 0 && ::waitpid(pid_, &status, 0) != pid_) {
    }
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_;
};

}  // namespace rubato::runtime::split
