#include "rubato/wire/what_if_answer.h"

#include <chrono>

#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

constexpr Duration kShiftMin = std::chrono::seconds(1);

}  // namespace

bool is_scale_alone(const wire::WhatIfRequest& request) {
  return request.has_scale() && request.add_gpus() == 0 && request.remove_nodes().empty() &&
         request.policy().empty();
}

Shift shift_of(const wire::WhatIfJob& job) {
  const auto now = from_timestamp(job.finish_now());
  const auto then = from_timestamp(job.finish_then());
  if (!job.has_finish_now() || !job.has_finish_then() || !now || !then) {
    if (job.has_finish_now() == job.has_finish_then()) {
      return Shift::None;
    }
    return job.has_finish_now() ? Shift::Later : Shift::Earlier;
  }
  if (*then - *now > kShiftMin) {
    return Shift::Later;
  }
  return *now - *then > kShiftMin ? Shift::Earlier : Shift::None;
}

bool would_break(const wire::WhatIfJob& job) {
  return job.promise_then() == kPromiseBroken && job.promise_now() != kPromiseBroken;
}

}  // namespace rubato
