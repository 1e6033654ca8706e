// What tenants can count on, and what changes when that does.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "rubato/live/controller/controller.h"

namespace rubato {
namespace {

// Takes so many GPUs of the pools that have most left; by pool.
std::vector<int> take_gpus(int wanted, std::vector<int>& left) {
  std::vector<int> taken(left.size(), 0);
  while (wanted > 0) {
    const auto most = std::ranges::max_element(left);
    if (most == left.end() || *most == 0) {
      break;
    }
    const int part = std::min(wanted, *most);
    taken[static_cast<std::size_t>(most - left.begin())] += part;
    *most -= part;
    wanted -= part;
  }
  return taken;
}

bool answers_any(const Commands& commands, VerdictKind kind) {
  return std::ranges::any_of(commands, [kind](const Command& command) {
    const auto* answer = std::get_if<Answer>(&command);
    return answer != nullptr && answer->verdict.kind == kind;
  });
}

}  // namespace

// A tenant's GPUs lie in as few pools as they can, since a job lies in one. Empty if nobody is
// guaranteed anything nor kept from borrowing.
std::vector<policy::tenants::TenantGpus> Controller::guarantees(const Topology& machines) const {
  std::vector<int> left;
  for (const Pool& pool : machines.pools()) {
    left.push_back(pool.gpus);
  }
  std::vector<policy::tenants::TenantGpus> guaranteed;
  for (const auto& [name, tenant] : tenants_) {
    if ((tenant.guarantee() > 0 || tenant.has_borrow()) && !name.empty()) {
      guaranteed.push_back(
          {.tenant = name, .gpus = take_gpus(tenant.guarantee(), left), .keeps_best_effort = true});
      if (tenant.has_borrow()) {
        guaranteed.back().borrow = tenant.borrow();
      }
    }
  }
  if (!guaranteed.empty()) {
    guaranteed.push_back({.tenant = "", .has_the_rest = true, .keeps_best_effort = true});
  }
  return guaranteed;
}

void Controller::take(const wire::TenantSet& tenant) {
  const std::vector<policy::tenants::TenantGpus> before = guarantees(topology_);
  if (tenant.removed()) {
    tenants_.erase(tenant.tenant().name());
  } else {
    tenants_[tenant.tenant().name()] = tenant.tenant();
  }
  if (before == guarantees(topology_)) {
    return;
  }
  cause_ = {.text = fmt::format("{} changed what tenant {} is guaranteed or may borrow",
                                tenant.user(), tenant.tenant().name()),
            .by = tenant.user()};
  begin_again(policy_);
}

// All jobs and nodes, told to a new engine.
void Controller::begin_again(const std::string& policy) {
  auto engine = make_engine(policy, nodes_.size());
  if (!engine) {
    tell("alarm", engine.error().message);
    return;
  }
  engine_.emplace(*std::move(engine));
  policy_ = policy;
  engine_nodes_ = nodes_.size();
  wake_ = kNever;
  names_.clear();
  for (NodeRecord& record : nodes_) {
    record.is_up = true;
  }
  refresh_nodes();
  for (auto& [id, job] : jobs_) {
    if (!is_over(job.state)) {
      slots_.want(id, {});
      arrive(job);
    }
  }
}

std::string Controller::why_not(const wire::TenantStatus& tenant) const {
  if (tenant.name().empty()) {
    return "a tenant has a name";
  }
  if (tenant.guarantee() < 0 || tenant.borrow() < 0 || !std::isfinite(tenant.budget_gpu_hours()) ||
      tenant.budget_gpu_hours() < 0) {
    return "guarantee, borrow and budget are not below zero";
  }
  Controller trial(options_);
  trial.nodes_ = nodes_;
  trial.now_ = now_;
  trial.topology_ = topology_;
  trial.tenants_ = tenants_;
  trial.tenants_[tenant.name()] = tenant;
  std::int64_t guaranteed = 0;
  for (const auto& [name, each] : trial.tenants_) {
    guaranteed += each.guarantee();
  }
  if (guaranteed > topology_.gpus()) {
    return fmt::format("{} GPUs would be guaranteed, of {}", guaranteed, topology_.gpus());
  }
  auto engine = trial.make_engine(policy_, nodes_.size());
  if (!engine) {
    return engine.error().message;
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].is_up) {
      (void)engine->on(now_, NodeChange{.node = NodeId{i}, .up = false});
    }
  }
  for (const auto& [id, job] : jobs_) {
    const bool is_promised = job.has_promise();
    const bool is_limited = tenant.has_borrow() && job.spec.tenant() == tenant.name();
    if (is_over(job.state) || !(is_promised || is_limited)) {
      continue;
    }
    const Commands commands = engine->on(now_, Arrival{.job = engine_job(job, id)});
    const bool is_refused = answers_any(commands, VerdictKind::Refuse);
    if (is_promised && (is_refused || answers_any(commands, VerdictKind::Demote))) {
      return fmt::format("the promise of job {} could not be kept", id.value);
    }
    if (is_refused) {
      return fmt::format("job {} could not run any more", id.value);
    }
  }
  return "";
}

}  // namespace rubato
