// Who may use how many GPUs when tenants are guaranteed some: the arithmetic of tenant_split.h.
//
// Jobs stand in lines: one per tenant for its promises, one for its jobs of best effort if it keeps
// them, and one for everybody else's. A tenant's GPUs belong to its promises first, then to its own
// jobs of best effort. What is idle then is lent, up to what a tenant may borrow.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rubato/policy/view.h"

namespace rubato::policy::tenants {

/// GPUs that a tenant can count on, and beyond.
struct TenantGpus {
  std::string tenant{};     // Empty: everybody.
  std::vector<int> gpus{};  // By pool; none of pools that came later.
  /// It has what the others leave of the cluster, however large that grows, and no `gpus` of its
  /// own.
  bool has_the_rest = false;
  /// Its jobs of best effort come next on its GPUs, before those of others.
  bool keeps_best_effort = false;
  /// At most so many idle GPUs of others for those jobs, if it keeps them; nothing: no limit.
  std::optional<int> borrow{};

  friend bool operator==(const TenantGpus&, const TenantGpus&) = default;
};

/// A line of jobs. Only a line of best effort may have no tenant.
struct TenantLine {
  std::optional<std::size_t> tenant{};
  bool is_best_effort = false;
};

/// GPUs by line and pool that are held.
using LineGpus = std::vector<std::vector<int>>;

class TenantQuotas {
 public:
  explicit TenantQuotas(std::vector<TenantGpus> tenants);

  [[nodiscard]] const std::vector<TenantGpus>& tenants() const { return tenants_; }
  /// The promises of each tenant, in order; then best effort; the last is everybody else's.
  [[nodiscard]] const std::vector<TenantLine>& lines() const { return lines_; }

  /// GPUs of a pool that the tenant can count on while all nodes are up.
  [[nodiscard]] int owed(const TenantGpus& tenant, PoolId pool, const View& view) const;
  /// GPUs that the line may use, by pool. What others borrow of its own counts as usable.
  [[nodiscard]] std::vector<int> usable(std::size_t line, const LineGpus& held,
                                        const View& view) const;
  /// GPUs that a line of best effort holds beyond those of its tenant, by pool.
  [[nodiscard]] std::vector<int> borrowed(std::size_t line, const LineGpus& held,
                                          const View& view) const;
  /// How many GPUs more than it may a line of best effort has borrowed.
  [[nodiscard]] int over_limit(std::size_t line, const LineGpus& held, const View& view) const;
  /// True if more of the pool is held than is up.
  [[nodiscard]] static bool is_over(PoolId pool, const LineGpus& held, const View& view);
  /// True if no line has to give anything back.
  [[nodiscard]] bool within_limits(const LineGpus& held, const View& view) const;

 private:
  [[nodiscard]] std::vector<int> due_in(PoolId pool, const LineGpus& held, const View& view) const;
  [[nodiscard]] std::vector<int> own(std::size_t line, const LineGpus& held,
                                     const View& view) const;
  [[nodiscard]] std::optional<int> limit(std::size_t line) const;

  std::vector<TenantGpus> tenants_;
  std::vector<TenantLine> lines_;
};

}  // namespace rubato::policy::tenants
