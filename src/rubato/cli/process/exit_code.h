// Exit codes that scripts rely on.
#pragma once

#include "rubato/base/result.h"

namespace rubato {

inline constexpr int kExitOk = 0;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitBadInput = 65;
inline constexpr int kExitNoServer = 69;
inline constexpr int kExitBug = 70;
inline constexpr int kExitNotChecked = 75;  // `rubato check` has nothing to compare, or no time.
inline constexpr int kExitNotPermitted = 77;
inline constexpr int kExitBadConfig = 78;
inline constexpr int kExitRefused = 80;      // The deadline cannot be promised.
inline constexpr int kExitMissed = 81;       // Finished after its deadline, with --strict-deadline.
inline constexpr int kExitCancelled = 83;    // The job was.
inline constexpr int kExitNotFinished = 84;  // The job goes on without us.
inline constexpr int kExitNotFound = 85;

[[nodiscard]] inline int exit_code(ErrorCode code) {
  return code == ErrorCode::BadConfig ? kExitBadConfig : kExitBadInput;
}

}  // namespace rubato
