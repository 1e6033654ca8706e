#include "rubato/live/rest/message_json.h"

#include <utility>

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <nlohmann/json.hpp>

#include "rubato/base/utf8.h"
#include "rubato/live/rest/json_shape.h"

namespace rubato {
namespace {

// `(workers.min): invalid value 1.5 for type TYPE_INT32` begins with the field's path.
Refusal refusal_of(const std::string& words) {
  Refusal refusal{.kind = RefusalKind::BadRequest, .message = repaired_utf8(words)};
  const std::size_t end = words.find("): ");
  if (words.starts_with('(') && end != std::string::npos) {
    refusal.field = repaired_utf8(words.substr(1, end - 1));
    refusal.message = refusal.field + ": " + repaired_utf8(words.substr(end + 3));
  }
  return refusal;
}

}  // namespace

Result<std::string> to_json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) {
    return bad_input(std::string(status.message()));
  }
  return text;
}

std::optional<Refusal> from_json(std::string_view text, google::protobuf::Message& message) {
  nlohmann::json value;
  if (auto problem = parse_strictly(text, value)) {
    return problem;
  }
  if (auto problem = shape_problem(value, *message.GetDescriptor())) {
    return problem;
  }
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &message);
  if (!status.ok()) {
    return refusal_of(std::string(status.message()));
  }
  return std::nullopt;
}

}  // namespace rubato
