#include "rubato/policy/tenants/tenant_quotas.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace rubato::policy::tenants {
namespace {

int held_by_all(PoolId pool, const LineGpus& held) {
  int gpus = 0;
  for (const std::vector<int>& line : held) {
    gpus += line[pool.value];
  }
  return gpus;
}

// Adds up to `more` GPUs of those lent, most in one pool first: a job lies in one.
void add_lent(int more, std::vector<int> lent, std::vector<int>& usable) {
  while (more > 0) {
    const auto most = std::ranges::max_element(lent);
    if (most == lent.end() || *most == 0) {
      return;
    }
    const int part = std::min(more, std::exchange(*most, 0));
    usable[static_cast<std::size_t>(most - lent.begin())] += part;
    more -= part;
  }
}

}  // namespace

TenantQuotas::TenantQuotas(std::vector<TenantGpus> tenants) : tenants_(std::move(tenants)) {
  for (std::size_t i = 0; i < tenants_.size(); ++i) {
    lines_.push_back({.tenant = i});
  }
  for (std::size_t i = 0; i < tenants_.size(); ++i) {
    if (tenants_[i].keeps_best_effort) {
      lines_.push_back({.tenant = i, .is_best_effort = true});
    }
  }
  lines_.push_back({.is_best_effort = true});
}

int TenantQuotas::owed(const TenantGpus& tenant, PoolId pool, const View& view) const {
  if (!tenant.has_the_rest) {
    return pool.value < tenant.gpus.size() ? tenant.gpus[pool.value] : 0;
  }
  int left = view.topology.pool(pool).gpus;
  for (const TenantGpus& each : tenants_) {
    left -= each.has_the_rest ? 0 : owed(each, pool, view);
  }
  return std::max(left, 0);
}

// GPUs of one pool that each tenant may use. If nodes are down and there are fewer than all are
// owed, everyone's promises keep what they hold, and what is left goes to those who have least of
// their due.
std::vector<int> TenantQuotas::due_in(PoolId pool, const LineGpus& held, const View& view) const {
  std::vector<int> due;
  int left = view.capacity[pool.value];
  for (const TenantGpus& tenant : tenants_) {
    due.push_back(owed(tenant, pool, view));
    left -= due.back();
  }
  if (left >= 0) {
    return due;
  }
  const std::vector<int> owed = std::exchange(due, {});
  for (std::size_t i = 0; i < tenants_.size(); ++i) {
    due.push_back(held[i][pool.value]);
  }
  left = view.capacity[pool.value] - std::accumulate(due.begin(), due.end(), 0);
  for (; left > 0; --left) {
    std::size_t poorest = due.size();
    for (std::size_t i = 0; i < due.size(); ++i) {
      const bool has_less = poorest == due.size() || static_cast<long>(due[i]) * owed[poorest] <
                                                         static_cast<long>(due[poorest]) * owed[i];
      poorest = due[i] < owed[i] && has_less ? i : poorest;
    }
    ++due.at(poorest);
  }
  return due;
}

// What the tenant of a line of best effort is due and does not use for promises, by pool.
std::vector<int> TenantQuotas::own(std::size_t line, const LineGpus& held, const View& view) const {
  std::vector<int> own;
  for (const Pool& pool : view.topology.pools()) {
    const auto tenant = lines_[line].tenant;
    own.push_back(
        tenant ? std::max(due_in(pool.id, held, view)[*tenant] - held[*tenant][pool.id.value], 0)
               : 0);
  }
  return own;
}

std::optional<int> TenantQuotas::limit(std::size_t line) const {
  const auto tenant = lines_[line].tenant;
  return tenant ? tenants_[*tenant].borrow : std::nullopt;
}

std::vector<int> TenantQuotas::usable(std::size_t line, const LineGpus& held,
                                      const View& view) const {
  std::vector<int> usable;
  if (!lines_[line].is_best_effort) {
    for (const Pool& pool : view.topology.pools()) {
      usable.push_back(due_in(pool.id, held, view)[*lines_[line].tenant]);
    }
    return usable;
  }
  usable = own(line, held, view);
  std::vector<int> lent;
  for (const Pool& pool : view.topology.pools()) {
    const int mine = held[line][pool.id.value];
    const int idle = view.capacity[pool.id.value] - (held_by_all(pool.id, held) - mine);
    lent.push_back(std::max(idle - usable[pool.id.value], 0));
  }
  const auto limit = this->limit(line);
  if (!limit) {
    std::ranges::transform(usable, lent, usable.begin(), std::plus{});
    return usable;
  }
  int left = *limit;
  const std::vector<int> borrowed = this->borrowed(line, held, view);
  for (std::size_t i = 0; i < lent.size(); ++i) {  // What it has borrowed stays where it is.
    const int kept = std::min({left, borrowed[i], lent[i]});
    usable[i] += kept;
    lent[i] -= kept;
    left -= kept;
  }
  add_lent(left, std::move(lent), usable);
  return usable;
}

std::vector<int> TenantQuotas::borrowed(std::size_t line, const LineGpus& held,
                                        const View& view) const {
  std::vector<int> borrowed = held[line];
  const std::vector<int> own = this->own(line, held, view);
  for (std::size_t i = 0; i < borrowed.size(); ++i) {
    borrowed[i] = std::max(borrowed[i] - own[i], 0);
  }
  return borrowed;
}

int TenantQuotas::over_limit(std::size_t line, const LineGpus& held, const View& view) const {
  const auto limit = this->limit(line);
  const std::vector<int> borrowed = limit ? this->borrowed(line, held, view) : std::vector<int>{};
  return limit ? std::max(std::accumulate(borrowed.begin(), borrowed.end(), 0) - *limit, 0) : 0;
}

bool TenantQuotas::is_over(PoolId pool, const LineGpus& held, const View& view) {
  return held_by_all(pool, held) > view.capacity[pool.value];
}

bool TenantQuotas::within_limits(const LineGpus& held, const View& view) const {
  for (const Pool& pool : view.topology.pools()) {
    if (is_over(pool.id, held, view)) {
      return false;
    }
  }
  for (std::size_t line = tenants_.size(); line < lines_.size(); ++line) {
    if (over_limit(line, held, view) > 0) {
      return false;
    }
  }
  return true;
}

}  // namespace rubato::policy::tenants
