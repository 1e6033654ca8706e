#include "rubato/cli/client/scale_flag.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "rubato/base/parse.h"
#include "rubato/spec/job_values.h"

namespace rubato {
namespace {

// Marks that others use for the same, and ours.
constexpr std::pair<std::string_view, std::string_view> kMarks[] = {
    {"...", "-"}, {"..", "-"}, {":", "="}};

Result<wire::WhatIfScale> read_scale(std::string_view text) {
  const std::size_t mark = text.find('=');
  if (mark == std::string_view::npos || trimmed(text.substr(0, mark)).empty()) {
    return bad_input(fmt::format("found '{}', expected JOB=WORKERS such as 42=1-8", text));
  }
  const auto limits = parse_workers(text.substr(mark + 1));
  if (!limits) {
    return limits.error();
  }
  wire::WhatIfScale scale;
  scale.set_job(std::string(trimmed(text.substr(0, mark))));
  *scale.mutable_workers() = *limits;
  return scale;
}

// The text with our marks.
std::string respelled(std::string_view text) {
  std::string spelled(text);
  for (const auto& [theirs, ours] : kMarks) {
    if (const std::size_t at = spelled.find(theirs); at != std::string::npos) {
      spelled.replace(at, theirs.size(), ours);
    }
  }
  return spelled;
}

}  // namespace

Result<wire::WhatIfScale> parse_scale(std::string_view text) {
  auto scale = read_scale(text);
  const std::string spelled = respelled(text);
  if (!scale && read_scale(spelled)) {
    return bad_input(fmt::format("{}; did you mean '{}'?", scale.error().message, spelled));
  }
  return scale;
}

}  // namespace rubato
