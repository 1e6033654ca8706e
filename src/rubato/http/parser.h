// Bytes of a connection to requests. The only place that knows which library does it.
#pragma once

#include <memory>
#include <string>

#include "rubato/http/limits.h"
#include "rubato/http/message.h"

namespace rubato {

/// Reads one request; a new one is made for the next.
class HttpParser {
 public:
  enum class Step { More, Complete, Bad };

  explicit HttpParser(const HttpLimits& limits);
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  /// Takes what it can use from the front of `input`; what follows a complete request stays there.
  [[nodiscard]] Step take_from(std::string& input);

  [[nodiscard]] bool has_head() const;
  /// The client waits for our word before it sends the body.
  [[nodiscard]] bool waits_for_continue() const;

  /// After Complete.
  [[nodiscard]] HttpRequest request();
  /// After Bad: what to answer.
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  struct Beast;
  std::unique_ptr<Beast> beast_;
  int status_ = 0;
  std::string problem_{};
};

}  // namespace rubato
