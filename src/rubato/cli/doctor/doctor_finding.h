// What `rubato doctor` finds: one line each, with what to do about it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rubato {

enum class FindingLevel {
  Ok,
  Warn,  // Works, but worse than it could.
  Fail,  // Something will not work.
};

struct DoctorFinding {
  std::string check{};  // A stable word: `blas`, `torch`, `disk`.
  FindingLevel level = FindingLevel::Ok;
  std::string found{};
  std::string remedy{};  // Empty if all is well.
};

using DoctorFindings = std::vector<DoctorFinding>;

/// A line for each, the remedy below.
[[nodiscard]] std::string findings_text(std::span<const DoctorFinding> findings, bool use_colour);
/// `{"version","checks":[{"check","level","found","remedy"}],"warnings","failures"}`.
[[nodiscard]] std::string findings_json(std::span<const DoctorFinding> findings);
/// 1 if anything failed, else 0.
[[nodiscard]] int findings_exit_code(std::span<const DoctorFinding> findings);

}  // namespace rubato
