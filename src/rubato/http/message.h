// What a client asks over HTTP and what it is told, free of sockets: the server fills the first and
// sends the second, handlers know nothing else.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rubato {

struct HttpRequest {
  std::string method{};
  std::string target{};                          // As sent: path and query, still escaped.
  std::map<std::string, std::string> headers{};  // Lower-case names; repeated ones joined by ", ".
  std::string body{};
  bool is_http_1_0 = false;
  bool is_kept_alive = true;  // As the client wishes.
  bool is_tls = false;
  std::chrono::steady_clock::time_point received{};

  /// Empty if the client did not send it; `name` in lower case.
  [[nodiscard]] std::string_view header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string_view{} : std::string_view(found->second);
  }
};

/// The body of an answer that has no end yet. The server pulls: a client that does not read costs a
/// stalled connection, never memory.
class HttpStream {
 public:
  enum class Going {
    On,
    Over,
    Broken,  // The client must not take what it has for all there is.
  };
  struct Part {
    std::string bytes{};  // May be none.
    Going going = Going::On;
  };

  virtual ~HttpStream() = default;
  /// Called once, before the first `next`. `wake` says that there may be a new part; it may be
  /// called from any thread, at any time, even after the stream is gone.
  virtual void open(std::function<void()> wake) = 0;
  /// Called on a worker thread of the server, never twice at once. `is_quiet`: nothing was sent for
  /// as long as `pause`.
  [[nodiscard]] virtual Part next(bool is_quiet) = 0;
  /// When to ask again though nobody called `wake`.
  [[nodiscard]] virtual std::chrono::milliseconds pause() const = 0;
};

struct HttpReply {
  int status = 200;
  std::string content_type{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  std::unique_ptr<HttpStream> stream{};  // If set, the body comes from here.
};

/// Answers a request; called on several worker threads at once, may block.
using HttpHandler = std::function<HttpReply(const HttpRequest&)>;

}  // namespace rubato
