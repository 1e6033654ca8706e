#include "rubato/cli/doctor/doctor_finding.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rubato/cli/process/exit_code.h"

namespace rubato {
namespace {

constexpr int kSomethingFailed = 1;

std::string_view level_word(FindingLevel level) {
  switch (level) {
    case FindingLevel::Ok:
      return "ok";
    case FindingLevel::Warn:
      return "warn";
    case FindingLevel::Fail:
      break;
  }
  return "fail";
}

std::string level_cell(FindingLevel level, bool use_colour) {
  const std::string word = fmt::format("{:<4}", level_word(level));
  const std::string_view colour = level == FindingLevel::Ok     ? "32"
                                  : level == FindingLevel::Warn ? "33"
                                                                : "31";
  return use_colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, word) : word;
}

std::ptrdiff_t count_of(std::span<const DoctorFinding> findings, FindingLevel level) {
  return std::ranges::count(findings, level, &DoctorFinding::level);
}

std::string counted(std::ptrdiff_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

std::string findings_text(std::span<const DoctorFinding> findings, bool use_colour) {
  std::string text;
  for (const DoctorFinding& finding : findings) {
    text += fmt::format("{}  {:<12} {}\n", level_cell(finding.level, use_colour), finding.check,
                        finding.found);
    if (!finding.remedy.empty()) {
      text += fmt::format("{:<19}{}\n", "", finding.remedy);
    }
  }
  const auto warnings = count_of(findings, FindingLevel::Warn);
  const auto failures = count_of(findings, FindingLevel::Fail);
  return text + (warnings + failures == 0 ? "all is well\n"
                                          : fmt::format("{}, {}\n", counted(failures, "failure"),
                                                        counted(warnings, "warning")));
}

std::string findings_json(std::span<const DoctorFinding> findings) {
  nlohmann::ordered_json json;
  json["version"] = RUBATO_VERSION;
  json["checks"] = nlohmann::ordered_json::array();
  for (const DoctorFinding& finding : findings) {
    json["checks"].push_back({{"check", finding.check},
                              {"level", level_word(finding.level)},
                              {"found", finding.found},
                              {"remedy", finding.remedy}});
  }
  json["warnings"] = count_of(findings, FindingLevel::Warn);
  json["failures"] = count_of(findings, FindingLevel::Fail);
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int findings_exit_code(std::span<const DoctorFinding> findings) {
  return count_of(findings, FindingLevel::Fail) > 0 ? kSomethingFailed : kExitOk;
}

}  // namespace rubato
