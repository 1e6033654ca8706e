#include "rubato/cli/client/verb_answer.h"

#include "rubato/cli/text/quote_text.h"
#include "rubato/cli/text/wall_clock.h"

namespace rubato {

int explain_failure(const char* verb, const CallFailure& failure) {
  fmt::print(stderr, "rubato {}: {}\n{}", verb, failure.message,
             offers_text(failure.problem.offers(), local_wall_clock()));
  return failure.exit_code;
}

int explain_failure(const char* verb, const Error& error) {
  return explain_failure(verb, failure_of(error));
}

}  // namespace rubato
