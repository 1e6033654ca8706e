#include "rubato/trace/text/json_member.h"

namespace rubato {

const nlohmann::json& member(const nlohmann::json& value, const char* key) {
  static const nlohmann::json kNothing;
  if (!value.is_object()) {
    return kNothing;
  }
  const auto found = value.find(key);
  return found == value.end() ? kNothing : *found;
}

}  // namespace rubato
