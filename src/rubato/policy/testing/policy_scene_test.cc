// The definitions of policy_scene.h stand in a test file, so that no library contains them.
#include "rubato/policy/testing/policy_scene.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/check.h"
#include "rubato/policy/baseline/fifo.h"

namespace rubato::policy {
namespace {

constexpr int kStepsMax = 1'000'000;

}  // namespace

std::vector<SpeedRow> linear_speeds(std::string_view gpu_type) {
  std::vector<SpeedRow> rows;
  for (int gpus = 1; gpus <= 1024; gpus += gpus < 64 ? 1 : gpus) {
    rows.push_back(SpeedRow{.gpu_type = std::string(gpu_type),
                            .model = "linear",
                            .batch = 1,
                            .gpus = gpus,
                            .speed = 1.0 * gpus});
  }
  return rows;
}

Job linear_job(std::uint64_t id, double arrival, int gpus, double seconds) {
  Job job;
  job.id = JobId{id};
  job.arrival = at_seconds(arrival);
  job.work = seconds * gpus;
  job.model = "linear";
  job.batch = 1;
  job.requested = gpus;
  return job;
}

Job due_at(double deadline, Job job) {
  job.deadline = at_seconds(deadline);
  return job;
}

Job best_effort(Job job) {
  job.job_class = JobClass::BestEffort;
  return job;
}

Scene::Scene(Make make, SceneOptions options)
    : make_(std::move(make)),
      reloads_(options.reloads),
      policy_(make_().value()),
      topology_(Topology::parse(options.cluster).value()),
      speeds_(std::move(options.speeds), topology_),
      slot_(from_seconds(options.slot_seconds)),
      costs_(options.accounting, topology_.gpus(), slot_),
      tenants_(std::move(options.tenants)) {
  for (const Pool& pool : topology_.pools()) {
    capacity_.push_back(pool.gpus);
  }
}

void Scene::submit(const Job& job) {
  RUBATO_CHECK(job.arrival >= now_);
  later_.emplace(std::pair(job.arrival, job.id), job);
}

void Scene::submit(const std::vector<Job>& jobs) {
  for (const Job& job : jobs) {
    submit(job);
  }
}

void Scene::set_node(NodeId node, bool up) {
  const Node& machine = topology_.node(node);
  capacity_[machine.pool.value] += up ? machine.gpus : -machine.gpus;
  while (used(machine.pool) > capacity_[machine.pool.value]) {
    change(widest_in(machine.pool), Target{.pool = machine.pool, .workers = 0});
  }
  tell(NodeChange{.node = node, .up = up});
}

void Scene::measure(std::uint64_t id, double speed_factor) {
  JobState& job = jobs_.at(JobId{id});
  job.speed_factor = speed_factor;
  job.progress.change(now_, speed_of(job, job.pool(), job.share), Duration{});
  tell(ProgressReport{.job = job.id(), .workers = job.share});
}

int Scene::share(std::uint64_t id) const {
  const JobState* job = jobs_.find(JobId{id});
  return job == nullptr ? 0 : job->share;
}

std::map<JobId, int> Scene::shares() const {
  std::map<JobId, int> shares;
  jobs_.for_each([&](const JobState& job) { shares[job.id()] = job.share; });
  return shares;
}

double Scene::finish(std::uint64_t id) const {
  const auto found = finishes_.find(JobId{id});
  return found == finishes_.end() ? -1 : to_seconds(found->second);
}

View Scene::view() {
  return View{.now = now_,
              .topology = topology_,
              .capacity = capacity_,
              .jobs = jobs_,
              .speeds = speeds_,
              .costs = costs_,
              .slot = slot_,
              .random = random_,
              .tenants = tenants_};
}

void Scene::run_until(Instant end) {
  while (true) {
    const Instant next = std::min({next_arrival(), next_finish(), wake_});
    if (next > end || next == kNever) {
      break;
    }
    RUBATO_CHECK(next >= now_ && ++steps_ < kStepsMax);
    now_ = next;
    if (next_finish() <= now_) {
      complete_due();
    } else if (next_arrival() <= now_) {
      arrive_next();
    } else {
      wake_ = kNever;
      tell(Tick{});
    }
  }
  now_ = end == kNever ? now_ : end;
}

Instant Scene::next_arrival() const {
  return later_.empty() ? kNever : later_.begin()->first.first;
}

Instant Scene::next_finish() const {
  Instant next = kNever;
  jobs_.for_each([&](const JobState& job) {
    next = std::min(next, job.share > 0 ? job.progress.finish(job.job.work) : kNever);
  });
  return std::max(next, now_);
}

void Scene::complete_due() {
  std::vector<JobId> due;
  jobs_.for_each([&](const JobState& job) {
    if (job.share > 0 && job.progress.finish(job.job.work) <= now_) {
      due.push_back(job.id());
    }
  });
  for (const JobId id : due) {
    finishes_[id] = now_;
    jobs_.erase(id);
    tell(Completion{.job = id});
  }
}

void Scene::arrive_next() {
  const Job job = later_.begin()->second;
  later_.erase(later_.begin());
  JobState& state = jobs_.insert(job);
  state.speed = speeds_.resolve(state.job);
  tell(Arrival{.job = job});
  RUBATO_CHECK(verdicts_.contains(job.id));
  if (const Verdict offer = verdicts_.at(job.id); offer.kind == VerdictKind::Offer) {
    const Duration latency = offer.promised == kNever ? Duration{} : offer.promised - job.arrival;
    tell(OfferReply{.job = job.id, .accepted = offer.payment <= job.value.at(latency)});
  }
}

void Scene::tell(const Event& event) {
  if (reloads_) {
    const std::string state = policy_->save();
    policy_ = make_().value();
    RUBATO_CHECK(policy_->load(state).ok() && policy_->save() == state);
  }
  const Decision decision = policy_->on(event, view());
  wake_ = decision.wake_at;
  RUBATO_CHECK(wake_ >= now_);
  for (const Verdict& verdict : decision.verdicts) {
    apply(verdict);
  }
  for (const JobPlan& plan : decision.plans) {
    jobs_.at(plan.job).plan = plan.plan;
  }
  if (decision.is_round) {
    apply_round(decision);
  }
}

void Scene::apply(const Verdict& verdict) {
  verdicts_[verdict.job] = verdict;
  if (verdict.kind == VerdictKind::Defer || verdict.kind == VerdictKind::Offer) {
    return;
  }
  JobState& job = jobs_.at(verdict.job);
  if (verdict.kind == VerdictKind::Refuse) {
    RUBATO_CHECK(!job.admitted);
    jobs_.erase(verdict.job);
    return;
  }
  job.admitted = verdict.kind != VerdictKind::Offer;
  job.promised = verdict.promised;
}

void Scene::apply_round(const Decision& decision) {
  ++rounds_;
  RUBATO_CHECK(decision.keep_others);
  std::set<JobId> changed;
  for (const Target& target : decision.targets) {
    JobState& job = jobs_.at(target.job);
    RUBATO_CHECK(job.admitted && changed.insert(target.job).second);
    change(job, target);
  }
  for (const Pool& pool : topology_.pools()) {
    RUBATO_CHECK(used(pool.id) <= capacity_[pool.id.value]);
  }
  const ArtifactCharge charge = policy_->traits().artifact_charge;
  if (costs_.accounting() == ResizeCostModel::Artifact &&
      (charge == ArtifactCharge::EveryRound ||
       (charge == ArtifactCharge::OnStart && is_restart_round()))) {
    stall_others(changed);
  }
  if (watcher_) {
    watcher_();
  }
}

// Under the artifact's accounting the unchanged jobs pay, too.
void Scene::stall_others(const std::set<JobId>& changed) {
  const bool restarts = is_restart_round();
  for (const auto& [id, workers] : shares()) {
    if (workers > 0 && !changed.contains(id)) {
      Progress& progress = jobs_.at(id).progress;
      progress.change(now_, progress.speed,
                      costs_.artifact(workers, /*known_set=*/!restarts, restarts));
    }
  }
}

void Scene::change(JobState& job, const Target& target) {
  const Duration pause = pause_of(job, target);
  starts_ += job.share == 0 && target.workers > 0 ? 1 : 0;
  job.usage.advance(now_, job.share);
  job.first_start = target.workers > 0 ? std::min(job.first_start, now_) : job.first_start;
  job.progress.change(now_, speed_of(job, target.pool, target.workers), pause);
  job.share = target.workers;
  job.placement.pool = target.pool;
}

Duration Scene::pause_of(const JobState& job, const Target& target) const {
  if (target.workers == 0 || costs_.accounting() == ResizeCostModel::None) {
    return Duration{};
  }
  if (costs_.accounting() == ResizeCostModel::Physical) {
    const bool moved = job.share > 0 && job.pool() != target.pool;
    return costs_.physical(job.job, {.from = job.share, .to = target.workers, .moved = moved});
  }
  if (policy_->traits().artifact_charge == ArtifactCharge::Free) {
    return Duration{};
  }
  return costs_.artifact(target.workers, /*known_set=*/false, is_restart_round());
}

// The first round, like those of the published simulator, restarts nothing.
bool Scene::is_restart_round() const {
  return rounds_ > 1 && (rounds_ - 1) % costs_.rounds_between_restarts() == 0;
}

double Scene::speed_of(const JobState& job, PoolId pool, int workers) const {
  return workers == 0 ? 0 : speeds_.curve(job.speed, pool).speed(workers) * job.speed_factor;
}

int Scene::used(PoolId pool) const {
  int gpus = 0;
  jobs_.for_each([&](const JobState& job) { gpus += job.pool() == pool ? job.share : 0; });
  return gpus;
}

JobState& Scene::widest_in(PoolId pool) {
  JobId widest{};
  int workers = 0;
  jobs_.for_each([&](const JobState& job) {
    if (job.pool() == pool && job.share > workers) {
      widest = job.id();
      workers = job.share;
    }
  });
  return jobs_.at(widest);
}

namespace {

Result<std::unique_ptr<Policy>> any_policy() { return baseline::make_fifo(PolicyOptions{}); }

TEST(Scene, TrainsAJobAtTheSpeedOfTheBook) {
  Scene scene(any_policy);
  scene.submit(linear_job(1, 3, 2, 10));

  scene.run_until(5);

  EXPECT_EQ(scene.share(1), 2);
  EXPECT_EQ(scene.jobs().at(JobId{1}).work_left(at_seconds(5)), 16);
}

TEST(Scene, ChargesThePauseOfAStart) {
  Scene scene(any_policy, {.accounting = ResizeCostModel::Artifact});
  scene.submit(linear_job(1, 0, 4, 10));

  scene.run();

  EXPECT_EQ(scene.finish(1), 18);  // 2 s, and 2 s for each bit of its width.
}

}  // namespace
}  // namespace rubato::policy
