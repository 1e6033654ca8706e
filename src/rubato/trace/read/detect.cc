#include "rubato/trace/read/detect.h"

#include <algorithm>
#include <string>
#include <vector>

#include "rubato/base/parse.h"
#include "rubato/trace/text/delimited.h"

namespace rubato {
namespace {

constexpr std::size_t kSwfFields = 18;
constexpr std::size_t kPaiFields = 10;
constexpr std::size_t kGavelFieldsMin = 7;

bool contains(const std::vector<std::string>& fields, std::string_view name) {
  return std::ranges::find(fields, name) != fields.end();
}

bool is_number(const std::string& text) { return parse_double(text).has_value(); }

// Rows of a PAI task table: times and plans are numbers, and may be missing.
bool is_pai_row(const std::vector<std::string>& fields) {
  if (fields.size() != kPaiFields || !is_number(fields[2]) || is_number(fields[3])) {
    return false;
  }
  return std::all_of(fields.begin() + 4, fields.begin() + 9,
                     [](const std::string& field) { return field.empty() || is_number(field); });
}

std::string_view detect_csv(const std::vector<std::string>& fields) {
  if (contains(fields, "model_name") && contains(fields, "num_gpu")) {
    return "elasticflow";
  }
  if (contains(fields, "gpu_num") && contains(fields, "submit_time")) {
    return "helios";
  }
  if (contains(fields, "application") && contains(fields, "time")) {
    return "pollux";
  }
  if ((contains(fields, "inst_num") && contains(fields, "plan_gpu")) || is_pai_row(fields)) {
    return "pai";
  }
  return {};
}

}  // namespace

std::string_view detect_format(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  if (line.empty()) {
    return {};
  }
  if (line.front() == '[') {
    return "philly";
  }
  if (line.front() == '{') {
    return line.find("rubato-trace/") != std::string_view::npos ? "rubato" : "sacct";
  }
  if (line.front() == ';') {
    return "swf";
  }
  std::vector<std::string> fields;
  if (std::ranges::count(line, '\t') + 1 >= static_cast<std::ptrdiff_t>(kGavelFieldsMin)) {
    return "gavel";
  }
  if (split_delimited(trimmed(line), ' ', fields) && fields.size() == kSwfFields &&
      std::ranges::all_of(fields, is_number)) {
    return "swf";
  }
  return split_delimited(trimmed(line), ',', fields) ? detect_csv(fields) : std::string_view{};
}

}  // namespace rubato
