// Always-on checks: a failed one is a bug of ours, is named with its place, and stops the process.
#pragma once

namespace rubato {

[[noreturn]] void check_failed(const char* claim, const char* file, int line);

}  // namespace rubato

#define RUBATO_CHECK(claim) \
  (static_cast<bool>(claim) ? void() : ::rubato::check_failed(#claim, __FILE__, __LINE__))
