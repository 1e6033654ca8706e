// Whether a JSON value has the shape of a message, and if not, where it differs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <google/protobuf/descriptor.h>
#include <nlohmann/json_fwd.hpp>

#include "rubato/live/service/platform.h"

namespace rubato {

/// Strict JSON: a name may be given once, and nothing follows the value. An error says line and
/// column.
[[nodiscard]] std::optional<Refusal> parse_strictly(std::string_view text, nlohmann::json& value);

/// Nothing if each field is one of the message's and of its type; ranges are not looked at.
[[nodiscard]] std::optional<Refusal> shape_problem(const nlohmann::json& value,
                                                   const google::protobuf::Descriptor& message);

}  // namespace rubato
