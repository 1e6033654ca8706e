#include "rubato/cli/process/verb_failure.h"

#include <cstdio>

#include <fmt/core.h>

#include "rubato/cli/process/exit_code.h"

namespace rubato {

int fail_verb(std::string_view verb, const Error& error) {
  fmt::print(stderr, "rubato {}: {}\n", verb, error.message);
  return exit_code(error.code);
}

}  // namespace rubato
