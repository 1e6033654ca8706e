#include "rubato/http/parser.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/string_body.hpp>

namespace rubato {
namespace {

namespace http = boost::beast::http;

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char character) {
    return static_cast<char>(std::tolower(character));
  });
  return text;
}

// The status for what is wrong with the bytes.
int parse_status(const boost::system::error_code& error) {
  if (error == http::error::header_limit) {
    return 431;
  }
  if (error == http::error::body_limit) {
    return 413;
  }
  return error == http::error::bad_version ? 505 : 400;
}

}  // namespace

struct HttpParser::Beast {
  http::request_parser<http::string_body> parser{};
};

HttpParser::HttpParser(const HttpLimits& limits) : beast_(std::make_unique<Beast>()) {
  beast_->parser.eager(true);
  beast_->parser.header_limit(static_cast<std::uint32_t>(limits.head_bytes_max));
  beast_->parser.body_limit(limits.body_bytes_max);
}

HttpParser::~HttpParser() = default;

HttpParser::Step HttpParser::take_from(std::string& input) {
  auto& parser = beast_->parser;
  boost::system::error_code error;
  const std::size_t used = parser.put(boost::asio::buffer(input), error);
  input.erase(0, used);
  if (error && error != http::error::need_more) {
    status_ = parse_status(error);
    problem_ = "malformed request: " + error.message();
    return Step::Bad;
  }
  return parser.is_done() ? Step::Complete : Step::More;
}

bool HttpParser::has_head() const { return beast_->parser.is_header_done(); }

bool HttpParser::waits_for_continue() const {
  const auto& head = beast_->parser.get();
  return has_head() && !beast_->parser.is_done() && head.version() >= 11 &&
         boost::beast::iequals(head[http::field::expect], "100-continue");
}

HttpRequest HttpParser::request() {
  auto message = beast_->parser.release();
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.is_http_1_0 = message.version() < 11;
  request.is_kept_alive = message.keep_alive();
  for (const auto& field : message) {
    std::string& value = request.headers[lower_case(std::string(field.name_string()))];
    value += (value.empty() ? "" : ", ") + std::string(field.value());
  }
  request.body = std::move(message.body());
  return request;
}

}  // namespace rubato
