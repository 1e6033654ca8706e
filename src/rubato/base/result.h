// Result<T>: a value, or an Error that says what was expected, what was found and where.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "rubato/base/check.h"

namespace rubato {

enum class ErrorCode {
  BadInput,   // The text or value given to us is wrong; nothing was changed.
  BadConfig,  // The program was set up in a way that cannot work.
  NotFound,
  Io,
};

/// What went wrong, in words a user can act on.
struct Error {
  ErrorCode code = ErrorCode::BadInput;
  std::string message{};
};

/// Either a T or an Error; must be looked at.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: likewise

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] const T& value() const& {
    RUBATO_CHECK(ok());
    return std::get<0>(state_);
  }
  [[nodiscard]] T& value() & {
    RUBATO_CHECK(ok());
    return std::get<0>(state_);
  }
  [[nodiscard]] T value() && {
    RUBATO_CHECK(ok());
    return std::move(std::get<0>(state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  [[nodiscard]] const Error& error() const {
    RUBATO_CHECK(!ok());
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// The result of something that has no value but may fail.
using Status = Result<std::monostate>;

[[nodiscard]] inline Status ok_status() { return std::monostate{}; }

[[nodiscard]] inline Error bad_input(std::string message) {
  return Error{.code = ErrorCode::BadInput, .message = std::move(message)};
}

}  // namespace rubato
