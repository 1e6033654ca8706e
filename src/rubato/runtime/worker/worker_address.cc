#include "rubato/runtime/worker/worker_address.h"

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

namespace rubato {
namespace {

// The value of a variable; empty if it is not set.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<std::uint64_t> number(const char* name) {
  const std::string text = variable(name);
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) {
    return Error{.code = ErrorCode::BadConfig,
                 .message = fmt::format("{} should be a number, found '{}'", name, text)};
  }
  return value;
}

}  // namespace

Result<WorkerAddress> worker_address() {
  WorkerAddress address{.socket = variable("RUBATO_CONDUCTOR"), .host = variable("RUBATO_HOST")};
  if (address.socket.empty()) {
    return address;
  }
  const auto worker = number("RUBATO_WORKER");
  if (!worker) {
    return worker.error();
  }
  const auto token = number("RUBATO_TOKEN");
  if (!token) {
    return token.error();
  }
  address.worker = *worker;
  address.token = *token;
  return address;
}

}  // namespace rubato
