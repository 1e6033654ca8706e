// JSON Schemas (2020-12) of messages, as their JSON mapping writes them.
#pragma once

#include <string>
#include <string_view>

#include <google/protobuf/descriptor.h>
#include <nlohmann/json.hpp>

namespace rubato {

/// Of the messages of our .proto files, by its short name, such as JobSpec; it must exist.
[[nodiscard]] const google::protobuf::Descriptor& platform_message(std::string_view name);

/// Adds the schema of the message and of those it holds to `schemas`, by their short names. Strict
/// ones allow no other fields.
void add_schema(const google::protobuf::Descriptor& message, bool is_strict,
                nlohmann::ordered_json& schemas);

[[nodiscard]] std::string schema_reference(std::string_view name);

}  // namespace rubato
