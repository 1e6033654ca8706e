#include "rubato/http/reply_text.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iterator>

#include <fmt/core.h>

#include "rubato/base/check.h"

namespace rubato {
namespace {

std::string date_of(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64] = {};
  const std::size_t length = std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return std::string(text, length);
}

void add_header(std::string& head, std::string_view name, std::string_view value) {
  head += name;
  head += ": ";
  std::ranges::transform(value, std::back_inserter(head), [](char character) {
    const auto byte = static_cast<std::uint8_t>(character);
    return byte < 0x20 || byte == 0x7f ? ' ' : character;
  });
  head += "\r\n";
}

bool has_header(const HttpReply& reply, std::string_view name) {
  return std::ranges::any_of(reply.headers, [name](const auto& it) { return it.first == name; });
}

}  // namespace

std::string_view status_words(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

std::string reply_head(const HttpReply& reply, const ReplyForm& form,
                       std::chrono::system_clock::time_point now) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, status_words(reply.status));
  add_header(head, "Date", date_of(now));
  if (!reply.content_type.empty()) {
    add_header(head, "Content-Type", reply.content_type);
  }
  if (form.framing == BodyFraming::Length) {
    add_header(head, "Content-Length", std::to_string(reply.body.size()));
  } else if (form.framing == BodyFraming::Chunks) {
    add_header(head, "Transfer-Encoding", "chunked");
  }
  add_header(head, "Connection", form.is_kept_alive ? "keep-alive" : "close");
  add_header(head, "Cache-Control", "no-store");
  add_header(head, "X-Content-Type-Options", "nosniff");
  add_header(head, "X-Frame-Options", "DENY");
  add_header(head, "Referrer-Policy", "no-referrer");
  if (!has_header(reply, "Content-Security-Policy")) {
    add_header(head, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  }
  for (const auto& [name, value] : reply.headers) {
    add_header(head, name, value);
  }
  return head + "\r\n";
}

std::string chunk(std::string_view bytes) {
  RUBATO_CHECK(!bytes.empty());
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace rubato
