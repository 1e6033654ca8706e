// Keeps web pages of other sites away from a server on loopback, which their visitor's browser can
// reach: by a name that was made to point here (DNS rebinding), or by a request of their own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rubato/http/message.h"

namespace rubato {

/// `localhost`, 127.0.0.0/8 or ::1, with or without a port.
[[nodiscard]] bool is_loopback_host(std::string_view host);

/// Why the request must be refused; nothing if it need not.
[[nodiscard]] std::optional<std::string> foreign_request(const HttpRequest& request,
                                                         bool is_loopback_only);

}  // namespace rubato
