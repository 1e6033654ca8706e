// How a process ended, as the kernel tells it.
#pragma once

namespace rubato {

/// An exit code, or, if `signal` is not 0, the signal that ended the process.
struct ExitStatus {
  int code = 0;
  int signal = 0;

  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

}  // namespace rubato
