// Exit codes that scripts rely on.
#pragma once

#include "rubato/base/result.h"

namespace rubato {

inline constexpr int kExitOk = 0;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitBadInput = 65;
inline constexpr int kExitBug = 70;
inline constexpr int kExitBadConfig = 78;

[[nodiscard]] inline int exit_code(ErrorCode code) {
  return code == ErrorCode::BadConfig ? kExitBadConfig : kExitBadInput;
}

}  // namespace rubato
