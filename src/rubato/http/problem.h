// What clients are told when a request is not carried out: RFC 9457.
#pragma once

#include <string>

#include "rubato/http/message.h"

namespace rubato {

/// Why a request was not carried out; field and suggestion may be empty.
struct Problem {
  std::string detail{};
  std::string field{};
  std::string suggestion{};
};

/// `application/problem+json`; bad bytes in the texts are replaced.
[[nodiscard]] HttpReply problem_reply(int status, const Problem& problem);
[[nodiscard]] HttpReply problem_reply(int status, const std::string& detail);

}  // namespace rubato
