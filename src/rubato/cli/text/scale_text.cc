#include "rubato/cli/text/scale_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rubato/cli/text/cluster_text.h"
#include "rubato/cli/text/moment_text.h"
#include "rubato/spec/job_values.h"
#include "rubato/wire/what_if_answer.h"

namespace rubato {
namespace {

std::string finish_line(const wire::WhatIfJob& job, const WallClock& clock) {
  const std::string now = job.has_finish_now() ? moment_text(job.finish_now(), clock) : "never";
  const std::string then = job.has_finish_then() ? moment_text(job.finish_then(), clock) : "never";
  const std::string shift = shift_text(job);
  return fmt::format(" finish     {} -> {}{}\n", now, then, shift.empty() ? "" : ", " + shift);
}

std::string refusal_line(const wire::WhatIfJob& job) {
  return job.refused_then().empty()
             ? ""
             : fmt::format(" refused    it would be ended: {}\n", job.refused_then());
}

std::string promise_line(const wire::WhatIfJob& job, const WallClock& clock) {
  if (!job.has_promised()) {
    return " promise    none\n";
  }
  return fmt::format(" promise    by {}: {}\n", moment_text(job.promised(), clock), met_text(job));
}

std::string hours_line(const wire::WhatIfJob& job) {
  if (!job.has_finish_then()) {
    return "";
  }
  const double change = job.gpu_hours_then() - job.gpu_hours_now();
  const std::string amount = fmt::format("{:.3g}", std::abs(change));
  return fmt::format(
      " GPU-hours  {:.3g} -> {:.3g}{}\n", job.gpu_hours_now(), job.gpu_hours_then(),
      amount == "0" ? "" : fmt::format(", {} {}", amount, change > 0 ? "more" : "less"));
}

std::string others_line(const wire::WhatIfReply& reply, const std::string& scaled) {
  int later = reply.hidden_later();
  int earlier = reply.hidden_earlier();
  int broken = reply.hidden_broken();
  for (const wire::WhatIfJob& job : reply.jobs()) {
    if (job.job() != scaled) {
      const Shift shift = shift_of(job);
      later += shift == Shift::Later ? 1 : 0;
      earlier += shift == Shift::Earlier ? 1 : 0;
      broken += would_break(job) ? 1 : 0;
    }
  }
  const int hidden = reply.hidden_later() + reply.hidden_earlier();
  return fmt::format(" others     {} later, {} earlier, {} {} broken{}\n", later, earlier, broken,
                     broken == 1 ? "promise" : "promises",
                     hidden > 0 ? fmt::format(" ({} of other tenants)", hidden) : "");
}

}  // namespace

std::string scale_text(const wire::WhatIfReply& reply, const wire::WhatIfScale& scale,
                       const WallClock& clock) {
  const auto found = std::ranges::find(reply.jobs(), scale.job(), &wire::WhatIfJob::job);
  if (found == reply.jobs().end()) {
    return "";
  }
  return fmt::format("job {} with workers {}\n", scale.job(), workers_text(scale.workers())) +
         finish_line(*found, clock) + refusal_line(*found) + promise_line(*found, clock) +
         hours_line(*found) + others_line(reply, scale.job());
}

}  // namespace rubato
