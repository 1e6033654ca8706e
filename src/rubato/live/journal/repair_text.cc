#include "rubato/live/journal/repair_text.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "rubato/base/utf8.h"

namespace rubato {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Nearly all text is well already, and this is asked of all that is journalled.
std::string repaired_string(std::string text) {
  if (is_utf8(text)) {
    return text;
  }
  const auto replace = nlohmann::json::error_handler_t::replace;
  return nlohmann::json::parse(nlohmann::json(text).dump(-1, ' ', false, replace))
      .get<std::string>();
}

void repair_field(Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  const bool is_text = field.type() == FieldDescriptor::TYPE_STRING;
  if (!is_text && field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return;
  }
  if (!field.is_repeated()) {
    if (is_text) {
      reflection.SetString(&message, &field,
                           repaired_string(reflection.GetString(message, &field)));
    } else {
      repair_text(*reflection.MutableMessage(&message, &field));
    }
    return;
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (is_text) {
      const std::string text = reflection.GetRepeatedString(message, &field, i);
      reflection.SetRepeatedString(&message, &field, i, repaired_string(text));
    } else {
      repair_text(*reflection.MutableRepeatedMessage(&message, &field, i));
    }
  }
}

}  // namespace

void repair_text(Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    repair_field(message, *field);
  }
}

}  // namespace rubato
