#include "rubato/http/client.h"

#include <cctype>
#include <optional>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <fmt/format.h>

#include "rubato/base/parse.h"

namespace rubato {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;

namespace {

constexpr std::uint64_t kReplyBytesMax = 256ULL << 20;

Error line_error(const WebOptions& options, std::string_view doing, const error_code& failure) {
  const bool is_refused =
      failure == asio::error::connection_refused || failure == asio::error::host_not_found;
  return {.code = ErrorCode::Io,
          .message = fmt::format(
              "{} {}: {}{}", doing, to_string(options.server),
              failure == beast::error::timeout ? "it did not answer in time" : failure.message(),
              is_refused ? "; start a platform with `rubato up`, or name one "
                           "with --server or RUBATO_SERVER"
                         : "")};
}

http::request<http::string_body> request_of(const WebOptions& options, const WebCall& call) {
  http::request<http::string_body> request(http::string_to_verb(call.method), call.target, 11);
  const std::string address = to_string(options.server);
  request.set(http::field::host, address.substr(address.find("//") + 2));
  request.set(http::field::user_agent, "rubato/" RUBATO_VERSION);
  if (!options.token.empty()) {
    request.set(http::field::authorization, "Bearer " + options.token);
  }
  for (const auto& [name, value] : call.headers) {
    request.set(name, value);
  }
  if (!call.body.empty()) {
    request.set(http::field::content_type, "application/json");
    request.body() = call.body;
  }
  request.prepare_payload();
  return request;
}

WebReply head_of(const http::response<http::string_body>& message) {
  return {.status = static_cast<int>(message.result_int()),
          .content_type = std::string(message[http::field::content_type])};
}

}  // namespace

/// One connection. Operations are asynchronous underneath, since only these have timeouts.
class WebLine {
 public:
  using Parser = http::response_parser<http::string_body>;
  using SecureStream = beast::ssl_stream<beast::tcp_stream>;

  explicit WebLine(WebOptions options) : options_(std::move(options)) {}

  [[nodiscard]] Status connect() {
    error_code failure;
    asio::ip::tcp::resolver resolver(loop_);
    const auto found = resolver.resolve(options_.server.host, options_.server.port, failure);
    if (failure) {
      return line_error(options_, "no server at", failure);
    }
    failure = finish([&](auto done) {
      plain().async_connect(found, [done](error_code code, const auto& /*end*/) { done(code); });
    });
    if (failure) {
      return line_error(options_, "no server at", failure);
    }
    error_code ignored;
    plain().socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    plain().socket().set_option(asio::socket_base::keep_alive(true), ignored);
    return options_.server.is_tls ? shake_hands() : ok_status();
  }

  /// The request and the head of the answer. `is_lost` says that a kept connection was closed
  /// before anything came back.
  [[nodiscard]] Status exchange(const WebCall& call, bool& is_lost) {
    auto request = request_of(options_, call);
    parser_.emplace();
    parser_->body_limit(kReplyBytesMax);
    parser_->skip(call.method == "HEAD");
    is_lost = false;
    if (const error_code failure = finish([&](auto done) { write(request, done); })) {
      is_lost = true;
      return line_error(options_, "lost", failure);
    }
    if (const error_code failure = finish([&](auto done) { read_head(done); })) {
      is_lost = !parser_->got_some() && failure != beast::error::timeout;
      return line_error(options_, "no answer from", failure);
    }
    return ok_status();
  }

  [[nodiscard]] Status read_all() {
    if (const error_code failure = finish([&](auto done) { read_body(done); })) {
      return line_error(options_, "broken answer from", failure);
    }
    return ok_status();
  }

  /// A body without end has no limit either.
  void expect_stream() {
    parser_->body_limit(boost::none);
    plain().expires_never();
  }

  [[nodiscard]] Result<std::string> read_some(Duration patience) {
    if (!is_reading_ && !parser_->is_done()) {
      is_reading_ = true;
      read_part([this](error_code code) {
        is_reading_ = false;
        part_failure_ = code;
      });
    }
    if (is_reading_) {
      loop_.restart();
      loop_.run_for(patience);
    }
    std::string text = std::exchange(parser_->get().body(), {});
    if (text.empty() && part_failure_ && !parser_->is_done()) {
      return line_error(options_, "lost", part_failure_);
    }
    return text;
  }

  [[nodiscard]] const Parser& parser() const { return *parser_; }
  [[nodiscard]] Parser& parser() { return *parser_; }

 private:
  [[nodiscard]] Status shake_hands() {
    const Error unsafe{
        .code = ErrorCode::Io,
        .message =
            fmt::format("cannot set up TLS to {}{}", to_string(options_.server),
                        options_.ca_file.empty() ? "" : fmt::format(" with {}", options_.ca_file))};
    error_code failure;
    if (options_.ca_file.empty()) {
      tls_.set_default_verify_paths(failure);
    } else {
      tls_.load_verify_file(options_.ca_file, failure);
    }
    secure_.emplace(std::move(*plain_), tls_);
    plain_.reset();
    secure_->set_verify_mode(ssl::verify_peer);
    secure_->set_verify_callback(ssl::host_name_verification(options_.server.host));
    std::string host = options_.server.host;
    // What the macro SSL_set_tlsext_host_name does, without its cast.
    if (failure || SSL_ctrl(secure_->native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME,
                            TLSEXT_NAMETYPE_host_name, host.data()) != 1) {
      return unsafe;
    }
    failure = finish([&](auto done) { secure_->async_handshake(ssl::stream_base::client, done); });
    return failure ? Status(line_error(options_, "cannot trust", failure)) : ok_status();
  }

  beast::tcp_stream& plain() { return secure_ ? secure_->next_layer() : *plain_; }

  // Runs one operation to its end or until it takes too long.
  template <typename Start>
  error_code finish(Start start) {
    error_code outcome = beast::error::timeout;
    plain().expires_after(options_.timeout);
    start([&outcome](error_code code) { outcome = code; });
    loop_.restart();
    loop_.run();
    return outcome;
  }

  template <typename Done>
  static auto without_count(Done done) {
    return [done](error_code code, std::size_t /*bytes*/) { done(code); };
  }

  template <typename Done>
  void write(http::request<http::string_body>& request, Done done) {
    secure_ ? http::async_write(*secure_, request, without_count(done))
            : http::async_write(*plain_, request, without_count(done));
  }

  template <typename Done>
  void read_head(Done done) {
    secure_ ? http::async_read_header(*secure_, buffer_, *parser_, without_count(done))
            : http::async_read_header(*plain_, buffer_, *parser_, without_count(done));
  }

  template <typename Done>
  void read_body(Done done) {
    secure_ ? http::async_read(*secure_, buffer_, *parser_, without_count(done))
            : http::async_read(*plain_, buffer_, *parser_, without_count(done));
  }

  template <typename Done>
  void read_part(Done done) {
    secure_ ? http::async_read_some(*secure_, buffer_, *parser_, without_count(done))
            : http::async_read_some(*plain_, buffer_, *parser_, without_count(done));
  }

  WebOptions options_;
  asio::io_context loop_{1};
  ssl::context tls_{ssl::context::tls_client};
  std::optional<beast::tcp_stream> plain_{std::in_place, loop_};
  std::optional<SecureStream> secure_{};
  beast::flat_buffer buffer_{};
  std::optional<Parser> parser_{};
  bool is_reading_ = false;
  error_code part_failure_{};
};

Result<WebAddress> parse_web_address(std::string_view text) {
  const Error wrong = bad_input(fmt::format(
      "found '{}', expected the address of a server such as http://127.0.0.1:8421", text));
  WebAddress address;
  std::string_view rest = trimmed(text);
  if (rest.starts_with("https://")) {
    address.is_tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  }
  if (rest.ends_with('/')) {
    rest.remove_suffix(1);
  }
  std::size_t colon = rest.rfind(':');
  if (rest.starts_with('[')) {  // An IPv6 address.
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) {
      return wrong;
    }
    address.host = rest.substr(1, end - 1);
    colon = end + 1 < rest.size() && rest[end + 1] == ':' ? end + 1 : std::string_view::npos;
    if (colon == std::string_view::npos && end + 1 != rest.size()) {
      return wrong;
    }
  } else {
    address.host = rest.substr(0, colon);
  }
  address.port = colon == std::string_view::npos ? (address.is_tls ? "443" : "80")
                                                 : std::string(rest.substr(colon + 1));
  const auto port = parse_int(address.port);
  const bool is_host =
      !address.host.empty() && address.host.find_first_of("/?#@ \t") == std::string::npos;
  if (!is_host || !port || *port < 1 || *port > 65'535) {
    return wrong;
  }
  return address;
}

std::string to_string(const WebAddress& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", address.is_tls ? "https" : "http", is_v6 ? "[" : "",
                     address.host, is_v6 ? "]" : "", address.port);
}

std::string url_escaped(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (std::isalnum(code) != 0 ||
        std::string_view("-._~").find(letter) != std::string_view::npos) {
      escaped += letter;
    } else {
      escaped += fmt::format("%{:02X}", code);
    }
  }
  return escaped;
}

WebClient::WebClient(WebOptions options) : options_(std::move(options)) {}
WebClient::WebClient(WebClient&&) noexcept = default;
WebClient& WebClient::operator=(WebClient&&) noexcept = default;
WebClient::~WebClient() = default;

Result<WebReply> WebClient::send(const WebCall& call) {
  for (;;) {
    const bool is_kept = line_ != nullptr;
    if (!is_kept) {
      line_ = std::make_unique<WebLine>(options_);
      if (const Status connected = line_->connect(); !connected) {
        line_.reset();
        return connected.error();
      }
    }
    bool is_lost = false;
    Status exchanged = line_->exchange(call, is_lost);
    if (exchanged) {
      exchanged = line_->read_all();
    }
    if (!exchanged) {
      line_.reset();
      if (is_lost && is_kept) {
        continue;
      }
      return exchanged.error();
    }
    auto& message = line_->parser().get();
    WebReply reply = head_of(message);
    reply.body = std::move(message.body());
    if (!message.keep_alive()) {
      line_.reset();
    }
    return reply;
  }
}

WebStream::WebStream() = default;
WebStream::WebStream(WebStream&&) noexcept = default;
WebStream& WebStream::operator=(WebStream&&) noexcept = default;
WebStream::~WebStream() = default;

Result<WebStream> WebStream::open(const WebOptions& options, const WebCall& call) {
  WebStream stream;
  stream.line_ = std::make_unique<WebLine>(options);
  if (const Status connected = stream.line_->connect(); !connected) {
    return connected.error();
  }
  bool is_lost = false;
  if (const Status exchanged = stream.line_->exchange(call, is_lost); !exchanged) {
    return exchanged.error();
  }
  stream.head_ = head_of(stream.line_->parser().get());
  if (stream.head_.status >= 200 && stream.head_.status < 300) {
    stream.line_->expect_stream();
    return stream;
  }
  if (const Status read = stream.line_->read_all(); !read) {
    return read.error();
  }
  stream.head_.body = stream.line_->parser().get().body();
  return stream;
}

Result<std::string> WebStream::read(Duration patience) { return line_->read_some(patience); }

bool WebStream::is_over() const {
  return line_->parser().is_done() && line_->parser().get().body().empty();
}

}  // namespace rubato
