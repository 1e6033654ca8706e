// The OpenAPI 3.1 document of the REST interface, made from its routes and messages.
#pragma once

#include <string>

namespace rubato {

/// Ends in a newline; the same bytes each time.
[[nodiscard]] std::string openapi_document();

}  // namespace rubato
