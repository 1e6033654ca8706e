#include "rubato/spec/job_schema.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rubato/spec/job_fields.h"
#include "rubato/spec/job_values.h"

namespace rubato {
namespace {

using SchemaJson = nlohmann::ordered_json;

SchemaJson worker_count_schema() {
  return {{"type", "integer"}, {"minimum", 1}, {"maximum", kJobWorkersMax}};
}

SchemaJson workers_schema() {
  const SchemaJson count = worker_count_schema();
  const SchemaJson limits = {{"type", "object"},
                             {"properties", {{"min", count}, {"max", count}}},
                             {"additionalProperties", false}};
  const SchemaJson listed = {
      {"type", "array"}, {"items", count}, {"uniqueItems", true}, {"maxItems", kJobSizesMax}};
  const SchemaJson line = {{"type", "string"}, {"pattern", "^[0-9]+(-[0-9]*|(,[0-9]+)*)$"}};
  return {{"oneOf", SchemaJson::array({count, limits, listed, line})}};
}

SchemaJson command_schema() {
  const SchemaJson words = {{"type", "array"},
                            {"items", {{"type", SchemaJson::array({"string", "number"})}}},
                            {"minItems", 1}};
  return {{"oneOf", SchemaJson::array({words, SchemaJson{{"type", "string"}}})}};
}

SchemaJson environment_schema() {
  return {{"type", "object"},
          {"additionalProperties", {{"type", SchemaJson::array({"string", "number", "boolean"})}}}};
}

SchemaJson speeds_schema() {
  return {{"type", "object"},
          {"patternProperties", {{"^[1-9][0-9]*$", {{"type", "number"}, {"exclusiveMinimum", 0}}}}},
          {"additionalProperties", false}};
}

SchemaJson number_schema(const JobField& field) {
  SchemaJson schema = {{"type", field.kind == JobFieldKind::Whole ? "integer" : "number"}};
  const bool is_open = field.least > 0 && field.least < 1;
  schema[is_open ? "exclusiveMinimum" : "minimum"] = is_open ? 0 : field.least;
  schema["maximum"] = field.most;
  return schema;
}

SchemaJson job_field_schema(const JobField& field) {
  switch (field.kind) {
    case JobFieldKind::Choice:
      return {{"enum", field.choices}};
    case JobFieldKind::CommandLine:
      return command_schema();
    case JobFieldKind::Variables:
      return environment_schema();
    case JobFieldKind::Number:
    case JobFieldKind::Whole:
      return number_schema(field);
    case JobFieldKind::Length:
      return {{"type", "string"}, {"pattern", "^([0-9]+(\\.[0-9]+)?[dhms])+$"}};
    case JobFieldKind::Workers:
      return workers_schema();
    case JobFieldKind::Speeds:
      return speeds_schema();
    case JobFieldKind::Text:
    case JobFieldKind::Rule:
    case JobFieldKind::Deadline:
      break;
  }
  return {{"type", "string"}};
}

}  // namespace

std::string job_schema() {
  SchemaJson properties = SchemaJson::object();
  for (const JobField& field : job_fields()) {
    SchemaJson schema = job_field_schema(field);
    schema["description"] = fmt::format("{}. Without it: {}.", field.help, field.preset);
    properties[std::string(field.name)] = std::move(schema);
  }
  const SchemaJson emulated = {{"properties", {{"kind", {{"const", "emulated"}}}}},
                               {"required", {"kind", "speeds"}}};
  const SchemaJson schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "A training job for rubato"},
      {"type", "object"},
      {"properties", std::move(properties)},
      {"required", {"steps"}},
      {"anyOf", SchemaJson::array({SchemaJson{{"required", {"command"}}}, emulated})},
      {"additionalProperties", false}};
  return schema.dump(2) + "\n";
}

std::string job_fields_markdown() {
  std::string text =
      "| field | example | without it | flag | what it says |\n|---|---|---|---|---|\n";
  for (const JobField& field : job_fields()) {
    text += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", field.name, field.example, field.preset,
                        field.flag.empty() ? "" : fmt::format("`{}`", field.flag), field.help);
  }
  return text;
}

}  // namespace rubato
