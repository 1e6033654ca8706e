#include "rubato/live/service/what_if.h"

#include <algorithm>
#include <chrono>

#include "rubato/live/controller/live_job.h"
#include "rubato/live/controller/scheduler_time.h"

namespace rubato {
namespace {

constexpr Duration kShiftMin = std::chrono::seconds(1);
constexpr int kPlaysMax = 4;

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

void hide_jobs(const std::set<JobId>& hidden, wire::WhatIfReply& reply) {
  const auto is_hidden = [&](const wire::WhatIfJob& job) {
    return hidden.contains(job_id_of(job.job()));
  };
  for (const wire::WhatIfJob& job : reply.jobs()) {
    if (is_hidden(job)) {
      const Shift shift = shift_of(job);
      reply.set_hidden_later(reply.hidden_later() + (shift == Shift::Later ? 1 : 0));
      reply.set_hidden_earlier(reply.hidden_earlier() + (shift == Shift::Earlier ? 1 : 0));
      reply.set_hidden_broken(reply.hidden_broken() + (would_break(job) ? 1 : 0));
    }
  }
  auto& jobs = *reply.mutable_jobs();
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(), is_hidden), jobs.end());
}

bool PlayLimit::enter() {
  if (++plays_ <= kPlaysMax) {
    return true;
  }
  --plays_;
  return false;
}

}  // namespace rubato
