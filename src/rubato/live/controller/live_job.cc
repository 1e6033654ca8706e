#include "rubato/live/controller/live_job.h"

#include <charconv>

#include "rubato/spec/duration_text.h"

namespace rubato {
namespace {

// Between the end of a step and the moment we know of it, about.
constexpr Duration kReportLag = std::chrono::milliseconds(250);

}  // namespace

std::string_view to_string(LiveState state) {
  switch (state) {
    case LiveState::Pending:
      return "PENDING";
    case LiveState::Profiling:
      return "PROFILING";
    case LiveState::Starting:
      return "STARTING";
    case LiveState::Running:
      return "RUNNING";
    case LiveState::Resizing:
      return "RESIZING";
    case LiveState::Suspended:
      return "SUSPENDED";
    case LiveState::Recovering:
      return "RECOVERING";
    case LiveState::Succeeded:
      return "SUCCEEDED";
    case LiveState::Failed:
      return "FAILED";
    case LiveState::Cancelled:
      return "CANCELLED";
    case LiveState::Rejected:
      return "REJECTED";
  }
  return "?";
}

bool is_over(LiveState state) {
  return state == LiveState::Succeeded || state == LiveState::Failed ||
         state == LiveState::Cancelled || state == LiveState::Rejected;
}

JobId job_id_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? JobId{value} : JobId{};
}

JobClass job_class_of(const wire::JobSpec& spec, Instant deadline) {
  if (spec.class_() == "soft") {
    return JobClass::Soft;
  }
  return spec.class_() == "best_effort" || deadline == kNever ? JobClass::BestEffort
                                                              : JobClass::Slo;
}

Duration runtime_max_of(const wire::JobSpec& spec) {
  const auto span = parse_duration(spec.max_runtime());
  return span ? *span : Duration{};
}

double unseen_steps(double speed) { return 1 + speed * to_seconds(kReportLag); }

}  // namespace rubato
