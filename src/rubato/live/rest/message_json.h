// The platform's messages as JSON: protobuf's own mapping, with the field names of the .proto
// files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/live/service/platform.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace rubato {

/// One line; numbers, texts and lists are there even if zero or empty, moments and other messages
/// only if set. Fails on moments that RFC 3339 cannot write.
[[nodiscard]] Result<std::string> to_json(const google::protobuf::Message& message);

/// Reads `text` into `message`, which is left in an unspecified state on failure. Strict: syntax
/// errors come with line and column; an unknown field with its path and the nearest valid name; a
/// name given twice, a value of another type or a number that is not finite is refused.
[[nodiscard]] std::optional<Refusal> from_json(std::string_view text,
                                               google::protobuf::Message& message);

}  // namespace rubato
