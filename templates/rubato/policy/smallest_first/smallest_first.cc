#include "rubato/policy/smallest_first/smallest_first.h"

#include <set>
#include <utility>

#include "rubato/policy/rounds/gang_policy.h"

namespace rubato::policy::smallest_first {
namespace {

// Who waits: fewest GPUs first, then in order of arrival, in which ids are given.
class SmallestFirst final : public rounds::GangPolicy {
 protected:
  void joins(const JobState& job, const View& /*view*/) override {
    if (!is_running(job.id())) {
      waiting_.emplace(gang(job.id()).workers, job.id());
    }
  }
  void loses_workers(const JobState& job, const View& view) override { joins(job, view); }
  void leaves(JobId job, Outcome /*outcome*/) override {
    if (is_member(job)) {
      waiting_.erase({gang(job).workers, job});
    }
  }
  void hold_round(const View& view, Decision& decision) override {
    std::erase_if(waiting_, [&](const std::pair<int, JobId>& next) {
      const rounds::Gang* where = room_for(next.second, view);
      if (where != nullptr) {
        start(next.second, *where, decision);
      }
      return where != nullptr;
    });
  }
  void clear() override { waiting_.clear(); }

 private:
  std::set<std::pair<int, JobId>> waiting_;
};

Result<std::unique_ptr<Policy>> make_smallest_first(const PolicyOptions& options) {
  const Status known = options.only({});
  return known ? std::unique_ptr<Policy>(std::make_unique<SmallestFirst>())
               : Result<std::unique_ptr<Policy>>(known.error());
}

}  // namespace

PolicyInfo smallest_first_policy() {
  return {.name = "smallest-first",
          .paper = "folklore",
          .fidelity = "exact",
          .objective = "start the narrowest job first",
          .needs = "requested GPUs",
          .use_when = "small jobs should not wait for large ones",
          .make = make_smallest_first};
}

}  // namespace rubato::policy::smallest_first
