#include "rubato/live/rest/json_shape.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "rubato/base/parse.h"
#include "rubato/base/spelling.h"

namespace rubato {
namespace {

using google::protobuf::FieldDescriptor;
using nlohmann::json;

Refusal refused_field(const std::string& path, std::string problem, std::string nearest = {}) {
  return {.kind = RefusalKind::BadRequest,
          .message = path.empty() ? std::move(problem) : path + ": " + problem,
          .field = path,
          .suggestion = std::move(nearest)};
}

// `line 3, column 7` of a byte of the text; both count from one.
std::string place_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t break_at = before.rfind('\n');
  const std::size_t column = break_at == std::string_view::npos ? byte + 1 : byte - break_at;
  return fmt::format("line {}, column {}", line, column);
}

// What the library says after the place, without the excerpt of the text.
std::string words_of(const json::parse_error& error) {
  const std::string_view all = error.what();
  const std::size_t begin = all.find(": ");
  std::string_view words = begin == std::string_view::npos ? all : all.substr(begin + 2);
  words = words.substr(0, words.find("; last read"));
  return std::string(words);
}

// Collects the first name that an object has twice.
class TwiceNamed {
 public:
  bool operator()(json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) {
      names_.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      names_.pop_back();
    } else if (event == json::parse_event_t::key && first_.empty()) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!names_.back().insert(name).second) {
        first_ = name;
      }
    }
    return true;
  }
  [[nodiscard]] const std::string& first() const { return first_; }

 private:
  std::vector<std::set<std::string>> names_{};
  std::string first_{};
};

std::optional<Refusal> message_problem(const json& value,
                                       const google::protobuf::Descriptor& message,
                                       const std::string& path);

bool is_moment(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.message_type()->full_name() == "google.protobuf.Timestamp";
}

// What a single value of the field must be.
std::string_view expected(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return "a text";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "a number";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return is_moment(field) ? "a moment as RFC 3339 writes it" : "an object";
    default:
      return "a whole number";
  }
}

bool is_number(const json& value) {
  return value.is_number() ||
         (value.is_string() && parse_double(value.get_ref<const std::string&>()).has_value());
}

// Whether one value is of the field's type; the fields of objects are looked at elsewhere.
bool fits(const json& value, const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return value.is_string();
    case FieldDescriptor::CPPTYPE_BOOL:
      return value.is_boolean();
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return is_moment(field) ? value.is_string() : value.is_object();
    default:
      return is_number(value);
  }
}

std::optional<Refusal> value_problem(const json& value, const FieldDescriptor& field,
                                     const std::string& path) {
  if (!fits(value, field)) {
    return refused_field(path,
                         fmt::format("expected {}, found {}", expected(field), value.type_name()));
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !is_moment(field)) {
    return message_problem(value, *field.message_type(), path);
  }
  return std::nullopt;
}

std::string member_of(const std::string& path, const std::string& name) {
  return path.empty() ? name : fmt::format("{}.{}", path, name);
}

std::optional<Refusal> map_problem(const json& value, const FieldDescriptor& field,
                                   const std::string& path) {
  if (!value.is_object()) {
    return refused_field(path, fmt::format("expected an object, found {}", value.type_name()));
  }
  for (const auto& [name, entry] : value.items()) {
    if (auto problem =
            value_problem(entry, *field.message_type()->map_value(), member_of(path, name))) {
      return problem;
    }
  }
  return std::nullopt;
}

std::optional<Refusal> list_problem(const json& value, const FieldDescriptor& field,
                                    const std::string& path) {
  if (!value.is_array()) {
    return refused_field(path, fmt::format("expected a list, found {}", value.type_name()));
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (auto problem = value_problem(value[i], field, fmt::format("{}[{}]", path, i))) {
      return problem;
    }
  }
  return std::nullopt;
}

const FieldDescriptor* field_named(const google::protobuf::Descriptor& message,
                                   const std::string& name) {
  const FieldDescriptor* field = message.FindFieldByName(name);
  return field != nullptr ? field : message.FindFieldByCamelcaseName(name);
}

Refusal unknown_field(const google::protobuf::Descriptor& message, const std::string& name,
                      const std::string& path) {
  std::vector<std::string_view> names;
  names.reserve(static_cast<std::size_t>(message.field_count()));
  for (int i = 0; i < message.field_count(); ++i) {
    names.emplace_back(message.field(i)->name());
  }
  return refused_field(path, "unknown field" + suggestion(name, names),
                       std::string(nearest_spelling(name, names)));
}

std::optional<Refusal> message_problem(const json& value,
                                       const google::protobuf::Descriptor& message,
                                       const std::string& path) {
  for (const auto& [name, member] : value.items()) {
    const std::string member_path = member_of(path, name);
    const FieldDescriptor* const field = field_named(message, name);
    if (field == nullptr) {
      return unknown_field(message, name, member_path);
    }
    if (member.is_null()) {
      continue;
    }
    auto problem = field->is_map()        ? map_problem(member, *field, member_path)
                   : field->is_repeated() ? list_problem(member, *field, member_path)
                                          : value_problem(member, *field, member_path);
    if (problem) {
      return problem;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> parse_strictly(std::string_view text, json& value) {
  TwiceNamed twice;
  try {
    value = json::parse(text, [&twice](int /*depth*/, json::parse_event_t event, json& parsed) {
      return twice(event, parsed);
    });
  } catch (const json::parse_error& error) {
    const std::size_t byte = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    return refused_field("", place_of(text, byte) + ": " + words_of(error));
  } catch (const json::exception& error) {
    return refused_field("", error.what());
  }
  if (!twice.first().empty()) {
    return refused_field(twice.first(), "the name is given twice");
  }
  return std::nullopt;
}

std::optional<Refusal> shape_problem(const json& value,
                                     const google::protobuf::Descriptor& message) {
  if (!value.is_object()) {
    return refused_field("", fmt::format("expected an object, found {}", value.type_name()));
  }
  return message_problem(value, message, "");
}

}  // namespace rubato
