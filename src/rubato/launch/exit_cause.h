// Why a worker ended, in a word that a scheduler can act on and a sentence that a user can.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rubato/launch/exit_status.h"

namespace rubato {

/// What a worker exits with to say: my state is saved, start me again; that is no failure.
constexpr int kExitRequeue = 75;

/// What a job exits with that could not go on, and one that was given something it cannot read.
constexpr int kJobExitFailed = 1;
constexpr int kJobExitBadInput = 65;

enum class ExitKind {
  Finished,
  UserError,  // The program's own failure: starting it again will most likely fail again.
  Requeue,    // State saved, start me again.
  OutOfMemory,
  Signal,  // Ended by a signal that nobody here sent.
  KilledByUs,
  Lost,  // Its node or its starter is gone: how it ended is not known.
};

/// `user_error`, `out_of_memory`: for other programs.
[[nodiscard]] std::string_view exit_word(ExitKind kind);

/// What is known beside the status of a process.
struct ExitEvidence {
  std::vector<int> signals_sent{};  // By us, to this worker.
  int oom_kills = 0;                // Counted by the kernel while the worker ran.
  std::string lost{};               // Not empty: there is no status, and this is why.
};

/// The class of an end, and the words for it.
struct ExitCause {
  ExitKind kind = ExitKind::Finished;
  ExitStatus status{};
  std::string detail{};  // One line: the exception, the signal, the evidence.

  friend bool operator==(const ExitCause&, const ExitCause&) = default;
};

/// Decides from the status, the last output of the worker and the evidence. Same input, same cause.
[[nodiscard]] ExitCause exit_cause(ExitStatus status, std::string_view log_tail,
                                   const ExitEvidence& evidence);

/// `user error (exit code 1): ValueError: no such file`.
[[nodiscard]] std::string describe(const ExitCause& cause);

/// What a shell would see: the exit code, or 128 and the number of the signal.
[[nodiscard]] int shell_code(const ExitStatus& status);

/// `SIGSEGV`; `signal 99` if it has no name.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace rubato
