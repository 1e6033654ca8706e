#include "rubato/cli/platform/what_if_run.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/core.h>

#include "rubato/live/controller/live_job.h"
#include "rubato/sim/simulator.h"
#include "rubato/spec/job_values.h"
#include "rubato/wire/timestamp.h"
#include "rubato/wire/what_if_answer.h"

namespace rubato {
namespace {

constexpr Duration kPlayedSlot = std::chrono::seconds(1);
constexpr double kSecondsOfAnHour = 3600;
constexpr double kSecondsMax = 20;  // By a real clock.

/// One of the two futures.
struct PlayedWorld {
  std::vector<LiveNode> nodes{};
  std::string policy{};
  std::vector<Job> jobs{};
  std::vector<std::size_t> order{};  // Places in `jobs`, as they arrive.
};

PlayedWorld present_world(const LivePosition& position) {
  PlayedWorld world{.nodes = position.nodes, .policy = position.policy, .jobs = position.jobs};
  world.order.resize(world.jobs.size());
  std::iota(world.order.begin(), world.order.end(), std::size_t{0});
  return world;
}

// As the controller scales: the job leaves and arrives anew with other limits, behind all others.
std::optional<Refusal> scale(const wire::WhatIfScale& wanted, PlayedWorld& world) {
  const auto job = std::ranges::find(world.jobs, job_id_of(wanted.job()), &Job::id);
  if (job == world.jobs.end()) {
    return Refusal{.kind = RefusalKind::NotFound,
                   .message = fmt::format("there is no active job {}", wanted.job()),
                   .field = "scale.job"};
  }
  job->workers = worker_counts(wanted.workers());
  const auto at =
      std::ranges::find(world.order, static_cast<std::size_t>(job - world.jobs.begin()));
  std::rotate(at, at + 1, world.order.end());
  return std::nullopt;
}

Answered<PlayedWorld> changed_world(const LivePosition& position,
                                    const wire::WhatIfRequest& request) {
  PlayedWorld world = present_world(position);
  for (const std::string& name : request.remove_nodes()) {
    const auto is_named = [&](const LiveNode& node) { return node.name == name; };
    if (std::erase_if(world.nodes, is_named) == 0) {
      return Refusal{.message = fmt::format("there is no node {} that is up", name),
                     .field = "remove_nodes"};
    }
  }
  if (request.add_gpus() < 0) {
    return Refusal{.message = "add_gpus must not be negative", .field = "add_gpus"};
  }
  if (request.add_gpus() > 0) {
    // Like the machines there are: a job stays with one agent.
    LiveNode more = position.nodes.empty() ? LiveNode{} : position.nodes.front();
    more.name = "added";
    more.slots = request.add_gpus();
    world.nodes.push_back(more);
  }
  if (world.nodes.empty()) {
    return Refusal{.message = "no node would be left", .field = "remove_nodes"};
  }
  if (!request.policy().empty()) {
    world.policy = request.policy();
  }
  if (request.has_scale()) {
    if (auto refusal = scale(request.scale(), world)) {
      return *std::move(refusal);
    }
  }
  return world;
}

// In the simulator jobs are numbered as they arrive; back to their places.
History in_places(History history, const std::vector<std::size_t>& order) {
  std::vector<JobRecord> records(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    records[order[i]] = history.jobs[i];
  }
  history.jobs = std::move(records);
  for (GanttBar& bar : history.bars) {
    bar.job = JobId{order[bar.job.value]};
  }
  return history;
}

Result<History> play(const LivePosition& position, const PlayedWorld& world) {
  std::vector<NodeGroup> groups;
  for (const LiveNode& node : world.nodes) {
    groups.push_back({.nodes = 1,
                      .gpus_per_node = node.slots,
                      .gpu_type = node.gpu_type,
                      .region = {.name = node.agent}});
  }
  const Topology topology(groups);
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < world.order.size(); ++i) {
    jobs.push_back(world.jobs[world.order[i]]);
    jobs[i].id = JobId{i};
    jobs[i].arrival = Instant{};
    if (jobs[i].has_deadline()) {
      jobs[i].deadline = Instant{jobs[i].deadline - position.now};
      // It was admitted already: what it would lose is its deadline, not its place.
      jobs[i].job_class = JobClass::Soft;
    }
  }
  auto played = simulate(jobs, topology, SpeedBook({}, topology),
                         {.policy = world.policy,
                          .slot = kPlayedSlot,
                          .keep_bars = true,
                          .limit_seconds = kSecondsMax});
  if (!played) {
    return played.error();
  }
  return in_places(std::move(played->history), world.order);
}

/// The numbers of workers of one job over time.
using PlayedShares = google::protobuf::RepeatedPtrField<wire::PlannedShare>;

// By job, in the order of the position.
std::vector<PlayedShares> shares_of(const LivePosition& position, const History& history) {
  std::vector<PlayedShares> shares(position.jobs.size());
  std::vector<Instant> ends(position.jobs.size());
  for (const GanttBar& bar : history.bars) {
    const auto from = to_timestamp(later(position.now, bar.from.time_since_epoch()));
    const auto to = to_timestamp(later(position.now, bar.to.time_since_epoch()));
    if (!from || !to || bar.job.value >= shares.size()) {
      continue;
    }
    PlayedShares& all = shares[bar.job.value];
    Instant& end = ends[bar.job.value];
    // A move to other GPUs is no change of size.
    if (!all.empty() && end == bar.from && all.rbegin()->workers() == bar.placement.gpus()) {
      *all.rbegin()->mutable_to() = *to;
    } else {
      wire::PlannedShare& share = *all.Add();
      *share.mutable_from() = *from;
      *share.mutable_to() = *to;
      share.set_workers(bar.placement.gpus());
    }
    end = bar.to;
  }
  return shares;
}

bool changes_nothing(const wire::WhatIfRequest& request) {
  return request.add_gpus() == 0 && request.remove_nodes().empty() && request.policy().empty() &&
         !request.has_scale();
}

double met_ratio(const History& history) {
  const auto has_deadline = [](const JobRecord& job) { return job.deadline != kNever; };
  const auto all = std::ranges::count_if(history.jobs, has_deadline);
  const auto met = std::ranges::count_if(
      history.jobs, [&](const JobRecord& job) { return has_deadline(job) && job.met_deadline(); });
  return all == 0 ? 1 : static_cast<double>(met) / static_cast<double>(all);
}

double mean_finish(const History& history) {
  double sum = 0;
  int count = 0;
  for (const JobRecord& job : history.jobs) {
    if (job.finished()) {
      sum += to_seconds(job.finish);
      ++count;
    }
  }
  return count == 0 ? 0 : sum / count;
}

// By the position's clock; kNever if it did not end.
Instant finish_of(const LivePosition& position, const JobRecord& record) {
  return record.finished() ? later(position.now, record.finish.time_since_epoch()) : kNever;
}

// The deadline that was played ends a margin before the promise does.
std::string_view promise_word(const JobRecord& record, Instant finish, Instant promised) {
  if (finish > promised) {
    return kPromiseBroken;
  }
  return record.met_deadline() ? kPromiseKept : kPromiseAtRisk;
}

void put_promise(const LivePosition& position, const JobRecord& now, const JobRecord& then,
                 wire::WhatIfJob& job) {
  const auto promised = position.promised.find(job_id_of(job.job()));
  if (promised == position.promised.end()) {
    return;
  }
  if (const auto at = to_timestamp(promised->second)) {
    *job.mutable_promised() = *at;
  }
  const auto word = [&](const JobRecord& record) {
    return std::string(promise_word(record, finish_of(position, record), promised->second));
  };
  job.set_promise_now(word(now));
  job.set_promise_then(word(then));
}

wire::WhatIfJob told_job(const LivePosition& position, const Job& played, const JobRecord& now,
                         const JobRecord& then) {
  wire::WhatIfJob job;
  job.set_job(std::to_string(played.id.value));
  job.set_name(played.name);
  if (const auto at = to_timestamp(finish_of(position, now))) {
    *job.mutable_finish_now() = *at;
  }
  if (const auto at = to_timestamp(finish_of(position, then))) {
    *job.mutable_finish_then() = *at;
  }
  job.set_met_now(now.met_deadline());
  job.set_met_then(then.met_deadline());
  job.set_gpu_hours_now(now.gpu_seconds / kSecondsOfAnHour);
  job.set_gpu_hours_then(then.gpu_seconds / kSecondsOfAnHour);
  if (then.refused) {
    job.set_refused_then(std::string(sentence(then.reason)));
  }
  put_promise(position, now, then, job);
  return job;
}

}  // namespace

Answered<wire::WhatIfReply> play_what_if(const LivePosition& position,
                                         const wire::WhatIfRequest& request) {
  const auto changed = changed_world(position, request);
  if (const auto* refusal = std::get_if<Refusal>(&changed)) {
    return *refusal;
  }
  const auto now = play(position, present_world(position));
  const auto then = changes_nothing(request) ? now : play(position, std::get<PlayedWorld>(changed));
  if (!now || !then) {
    return Refusal{.message = now ? then.error().message : now.error().message,
                   .field = is_scale_alone(request) ? "scale.workers" : "policy"};
  }
  wire::WhatIfReply reply;
  reply.set_deadlines_met_ratio_now(met_ratio(*now));
  reply.set_deadlines_met_ratio_then(met_ratio(*then));
  reply.set_mean_finish_seconds_now(mean_finish(*now));
  reply.set_mean_finish_seconds_then(mean_finish(*then));
  const auto shares_now = shares_of(position, *now);
  const auto shares_then = shares_of(position, *then);
  for (std::size_t i = 0; i < position.jobs.size(); ++i) {
    wire::WhatIfJob& job = *reply.add_jobs();
    job = told_job(position, position.jobs[i], now->jobs[i], then->jobs[i]);
    *job.mutable_shares_now() = shares_now[i];
    *job.mutable_shares_then() = shares_then[i];
  }
  return reply;
}

}  // namespace rubato
