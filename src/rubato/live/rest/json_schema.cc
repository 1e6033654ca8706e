#include "rubato/live/rest/json_schema.h"

#include "rubato/base/check.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {
namespace {

using google::protobuf::FieldDescriptor;
using Json = nlohmann::ordered_json;

bool is_timestamp(const google::protobuf::Descriptor& message) {
  return message.full_name() == "google.protobuf.Timestamp";
}

// Of one value of the field.
Json value_schema(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return {{"type", "string"}};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {{"type", "number"}};
    case FieldDescriptor::CPPTYPE_INT32:
      return {{"type", "integer"}, {"format", "int32"}};
    case FieldDescriptor::CPPTYPE_UINT32:
      return {{"type", "integer"}, {"minimum", 0}};
    // The mapping writes them as text, for readers whose numbers are doubles.
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
      return {{"type", "string"}, {"pattern", "^-?[0-9]+$"}};
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (is_timestamp(*field.message_type())) {
        return {{"type", "string"}, {"format", "date-time"}};
      }
      return {{"$ref", schema_reference(field.message_type()->name())}};
    case FieldDescriptor::CPPTYPE_ENUM:
      break;
  }
  RUBATO_CHECK(false && "the platform's messages have no enumerations");
  return {};
}

Json field_schema(const FieldDescriptor& field) {
  if (field.is_map()) {
    return {{"type", "object"},
            {"additionalProperties", value_schema(*field.message_type()->map_value())}};
  }
  if (field.is_repeated()) {
    return {{"type", "array"}, {"items", value_schema(field)}};
  }
  return value_schema(field);
}

}  // namespace

const google::protobuf::Descriptor& platform_message(std::string_view name) {
  const auto* const found = wire::JobSpec::descriptor()->file()->pool()->FindMessageTypeByName(
      "rubato.wire." + std::string(name));
  RUBATO_CHECK(found != nullptr);
  return *found;
}

void add_schema(const google::protobuf::Descriptor& message, bool is_strict, Json& schemas) {
  Json& known = schemas[message.name()];
  const bool is_known = known.is_object() && (!is_strict || known.contains("additionalProperties"));
  if (is_known) {
    return;
  }
  Json schema = {{"type", "object"}, {"properties", Json::object()}};
  for (int i = 0; i < message.field_count(); ++i) {
    schema["properties"][message.field(i)->name()] = field_schema(*message.field(i));
  }
  if (is_strict) {
    schema["additionalProperties"] = false;
  }
  known = std::move(schema);
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map() &&
        !is_timestamp(*field.message_type())) {
      add_schema(*field.message_type(), is_strict, schemas);
    }
  }
}

std::string schema_reference(std::string_view name) {
  return "#/components/schemas/" + std::string(name);
}

}  // namespace rubato
