// A small HTTP/1.1 client: one request at a time over one connection that is kept, and bodies that
// are read while they grow. What it is made of is known to http_client.cc alone.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/base/time.h"

namespace rubato {

/// Where a server listens.
struct WebAddress {
  bool is_tls = false;
  std::string host{};
  std::string port{};
};

/// `http://127.0.0.1:8421`, `https://host`, or `host:port`, which is http. No path.
[[nodiscard]] Result<WebAddress> parse_web_address(std::string_view text);
[[nodiscard]] std::string to_string(const WebAddress& address);

struct WebOptions {
  WebAddress server{};
  std::string token{};                          // Sent as `Authorization: Bearer`; empty: none.
  std::string ca_file{};                        // PEM; empty: the system's.
  Duration timeout = std::chrono::seconds(30);  // For each of connecting, sending and answering.
};

struct WebCall {
  std::string method = "GET";
  std::string target{};  // Path and query, escaped.
  std::string body{};    // JSON, if not empty.
  std::vector<std::pair<std::string, std::string>> headers{};
};

struct WebReply {
  int status = 0;
  std::string content_type{};
  std::string body{};
};

/// A text as it may stand in a path or query.
[[nodiscard]] std::string url_escaped(std::string_view text);

class WebLine;

/// Sends calls one after the other. Errors are those of the line; what the server says is a reply.
class WebClient {
 public:
  explicit WebClient(WebOptions options);
  WebClient(WebClient&&) noexcept;
  WebClient& operator=(WebClient&&) noexcept;
  ~WebClient();

  /// A call may be sent twice if a kept connection turns out to be closed: all of ours bear that.
  [[nodiscard]] Result<WebReply> send(const WebCall& call);

 private:
  WebOptions options_;
  std::unique_ptr<WebLine> line_;
};

/// The growing body of one answer.
class WebStream {
 public:
  /// Returns when the head of the answer is there. Of an answer that is no success, the body is
  /// read as well.
  [[nodiscard]] static Result<WebStream> open(const WebOptions& options, const WebCall& call);
  WebStream(WebStream&&) noexcept;
  WebStream& operator=(WebStream&&) noexcept;
  ~WebStream();

  [[nodiscard]] const WebReply& head() const { return head_; }
  /// What came; empty if nothing did within `patience`. An error if the line broke.
  [[nodiscard]] Result<std::string> read(Duration patience);
  /// The server has ended the body in good order.
  [[nodiscard]] bool is_over() const;

 private:
  WebStream();

  WebReply head_{};
  std::unique_ptr<WebLine> line_;
};

}  // namespace rubato
