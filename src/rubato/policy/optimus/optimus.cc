#include "rubato/policy/optimus/optimus.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "rubato/policy/optimus/task_greed.h"
#include "rubato/policy/rounds/emptiest_nodes.h"
#include "rubato/policy/rounds/round_policy.h"

namespace rubato::policy::optimus {
namespace {

using rounds::Seat;

class Optimus final : public rounds::RoundPolicy {
 public:
  explicit Optimus(const OptimusOptions& options) : options_(options) {}

 protected:
  void hold_round(const View& view, std::span<Seat> seats) override;
  // Remaining times change as jobs train, so shares do, too.
  [[nodiscard]] Instant next_change(const View& view) const override {
    return after_last_round(view, options_.interval);
  }

 private:
  OptimusOptions options_;
};

// The pool in which the job is fastest on one GPU, among those with one left; where it is now on a
// tie. A pool without speed is none.
PoolId pool_for(const JobState& job, const View& view, std::span<const int> left) {
  PoolId best{view.topology.pools().size()};
  double best_speed = 0;
  for (const Pool& pool : view.topology.pools()) {
    const double speed = left[pool.id.value] > 0 ? view.speed(job, pool.id, 1) : 0;
    const bool is_here = job.share > 0 && job.pool() == pool.id;
    if (speed > best_speed || (is_here && speed > 0 && speed >= best_speed)) {
      best = pool.id;
      best_speed = speed;
    }
  }
  return best;
}

// The most workers the job accepts and the pool has.
int most_workers(const JobState& job, const View& view, PoolId pool) {
  const int peak = view.curve(job, pool).peak().workers;
  return std::min({peak, job.job.workers.max, view.capacity[pool.value]});
}

// Steps to go. Of an application that was profiled, what recorded trainings still needed after this
// epoch. A job that takes longer than it should is always about to finish.
double steps_left(const JobState& job, const View& view, PoolId pool) {
  const ApplicationProfile* profile = view.speeds.profile(job.speed, pool);
  if (profile == nullptr || profile->epochs() == 0) {
    return std::max(1.0, job.work_left(view.now));
  }
  const int batch = job.job.batch;
  const int epoch = profile->epoch_at(batch, job.progress.at(view.now));
  return std::max(1.0, profile->recorded_steps(batch, profile->epochs() - 1) -
                           profile->recorded_steps(batch, epoch));
}

// Shares out one pool among the jobs that have a worker in it.
void share_pool(const View& view, PoolId pool, std::span<Seat> seats, int left) {
  std::vector<TaskHolder> holders;
  std::vector<Seat*> owners;
  for (Seat& seat : seats) {
    if (seat.workers == 0 || seat.pool != pool) {
      continue;
    }
    const double work = steps_left(*seat.job, view, pool);
    const JobState& job = *seat.job;
    holders.push_back({.tasks = {1},
                       .limits = {most_workers(job, view, pool)},
                       .time_left = [&view, &job, pool, work](std::span<const int> tasks) {
                         const double speed = view.speed(job, pool, tasks[0]);
                         return speed > 0 ? work / speed : std::numeric_limits<double>::infinity();
                       }});
    owners.push_back(&seat);
  }
  std::array supplies = {TaskSupply{.left = left}};
  hand_out_tasks(holders, supplies);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    owners[i]->workers = holders[i].tasks[0];
  }
}

bool keeps_its_place(const Seat& seat) {
  return seat.job->share == seat.workers && seat.job->share > 0 && seat.job->pool() == seat.pool;
}

// Names the nodes of the jobs of a pool whose share changes, smallest first.
void place_pool(const View& view, PoolId pool, std::span<Seat> seats) {
  std::vector<JobId> leaving;
  std::vector<Seat*> coming;
  for (Seat& seat : seats) {
    if (keeps_its_place(seat)) {
      continue;
    }
    leaving.push_back(seat.job->id());
    if (seat.workers > 0 && seat.pool == pool) {
      coming.push_back(&seat);
    }
  }
  if (coming.empty()) {
    return;
  }
  std::ranges::sort(leaving);
  std::ranges::stable_sort(coming, {}, &Seat::workers);
  rounds::EmptiestNodes nodes(view, pool, leaving);
  for (Seat* seat : coming) {
    seat->nodes = nodes.take(seat->workers);
  }
}

void Optimus::hold_round(const View& view, std::span<Seat> seats) {
  std::vector<int> left(view.capacity.begin(), view.capacity.end());
  for (Seat& seat : seats) {
    const PoolId pool = pool_for(*seat.job, view, left);
    if (pool.value < left.size()) {
      seat.pool = pool;
      seat.workers = 1;
      --left[pool.value];
    }
  }
  for (const Pool& pool : view.topology.pools()) {
    share_pool(view, pool.id, seats, left[pool.id.value]);
    place_pool(view, pool.id, seats);
  }
}

}  // namespace

std::unique_ptr<Policy> make_optimus(const OptimusOptions& options) {
  return std::make_unique<Optimus>(options);
}

Result<std::unique_ptr<Policy>> make_optimus(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 1> kKeys = {"interval"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  const auto interval = options.number("interval", 0, 0, 1e9);
  if (!interval) {
    return interval.error();
  }
  return make_optimus(OptimusOptions{.interval = from_seconds(*interval)});
}

PolicyInfo optimus_policy() {
  return {.name = "optimus",
          .paper = "Optimus, EuroSys'18",
          .fidelity = "as Optimus+Oracle in Pollux's simulator: no parameter servers, work known",
          .objective = "mean completion time, run times known",
          .needs = "speed curve, work",
          .use_when = "as a baseline for elastic jobs",
          .options = "interval=0 (s between rounds; 0: the slot)",
          .make = make_optimus};
}

}  // namespace rubato::policy::optimus
