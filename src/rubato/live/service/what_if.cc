#include "rubato/live/service/what_if.h"

#include <algorithm>
#include <chrono>

#include "rubato/live/controller/live_job.h"
#include "rubato/wire/what_if_answer.h"

namespace rubato {
namespace {

constexpr int kPlaysMax = 4;

}  // namespace

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
