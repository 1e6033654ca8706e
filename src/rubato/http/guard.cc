#include "rubato/http/guard.h"

#include <algorithm>
#include <cctype>

#include "rubato/base/parse.h"

namespace rubato {
namespace {

bool is_same_ignoring_case(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

bool is_digits(std::string_view text, std::size_t digits_max) {
  return !text.empty() && text.size() <= digits_max &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// `127.` and three more numbers: other spellings of addresses are not sent by browsers.
bool is_loopback_ipv4(std::string_view host) {
  for (int parts = 1;; ++parts) {
    const std::size_t dot = host.find('.');
    const std::string_view part = host.substr(0, dot);
    if (!is_digits(part, 3) || *parse_int(part) > 255 || (parts == 1 && part != "127")) {
      return false;
    }
    if (dot == std::string_view::npos) {
      return parts == 4;
    }
    host.remove_prefix(dot + 1);
  }
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  if (has_port) {
    if (!is_digits(host.substr(colon + 1), 5)) {
      return false;
    }
    host = host.substr(0, colon);
  }
  return is_same_ignoring_case(host, "localhost") || host == "[::1]" || is_loopback_ipv4(host);
}

std::optional<std::string> foreign_request(const HttpRequest& request, bool is_loopback_only) {
  const std::string_view host = request.header("host");
  const bool may_lack_host = request.is_http_1_0 && !request.headers.contains("host");
  if (is_loopback_only && !may_lack_host && !is_loopback_host(host)) {
    return "host: expected a name of this machine's loopback";
  }
  if (request.headers.contains("origin")) {
    const std::string own = (request.is_tls ? "https://" : "http://") + std::string(host);
    if (!is_same_ignoring_case(request.header("origin"), own)) {
      return "origin: requests by pages of other sites are refused";
    }
  }
  return std::nullopt;
}

}  // namespace rubato
