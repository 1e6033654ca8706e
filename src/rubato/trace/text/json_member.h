// Looking into JSON whose shape nobody promised.
#pragma once

#include <nlohmann/json.hpp>

namespace rubato {

/// The member, or null if the value is no object or lacks it.
[[nodiscard]] const nlohmann::json& member(const nlohmann::json& value, const char* key);

}  // namespace rubato
