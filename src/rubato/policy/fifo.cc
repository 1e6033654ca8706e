#include "rubato/policy/fifo.h"

#include "rubato/policy/arrival_lines.h"
#include "rubato/policy/gang_policy.h"

namespace rubato {
namespace {

class Fifo final : public GangPolicy {
 protected:
  void joins(const JobState& job, const View& view) override {
    lines_.resize(view.topology.pools().size());
    if (!is_running(job.id())) {
      lines_.join(job, gang(job.id()).pool);
    }
  }
  void loses_workers(const JobState& job, const View& /*view*/) override {
    lines_.join(job, gang(job.id()).pool);
  }
  void leaves(JobId job, Outcome /*outcome*/) override { lines_.leave(job); }

  void hold_round(const View& view, Decision& decision) override {
    for (std::size_t pool = 0; pool < lines_.pools(); ++pool) {
      const ArrivalLines::Line& line = lines_.line(PoolId{pool});
      while (!line.empty()) {
        const JobId first = line.begin()->second;
        if (gang(first).workers > view.capacity[pool] - gpus_used(PoolId{pool})) {
          break;
        }
        lines_.leave(first);
        start(first, decision);
      }
    }
  }

  void clear() override { lines_.clear(); }

 private:
  ArrivalLines lines_;
};

}  // namespace

Result<std::unique_ptr<Policy>> make_fifo(const PolicyOptions& options) {
  if (Status status = options.only({}); !status) {
    return status.error();
  }
  return std::unique_ptr<Policy>(std::make_unique<Fifo>());
}

PolicyInfo fifo_policy() {
  return {.name = "fifo",
          .paper = "folklore",
          .fidelity = "exact",
          .objective = "order of arrival",
          .needs = "requested GPUs",
          .use_when = "as a baseline",
          .make = make_fifo};
}

}  // namespace rubato
