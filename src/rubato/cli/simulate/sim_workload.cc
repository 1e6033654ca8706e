#include "rubato/cli/simulate/sim_workload.h"

#include <map>
#include <utility>

#include "rubato/base/random.h"
#include "rubato/cli/simulate/profiles_dir.h"
#include "rubato/cli/trace/trace_file.h"
#include "rubato/sim/workload.h"

namespace rubato {
namespace {

// The same jobs with deadlines drawn anew: arrival + U(0.5, 1.5) * run time as requested.
std::vector<Job> with_new_deadlines(std::vector<Job> jobs, const SpeedBook& speeds,
                                    const Topology& topology, std::uint64_t seed) {
  Random random(seed);
  for (Job& job : jobs) {
    const double tightness = random.uniform(0.5, 1.5);
    if (job.has_deadline()) {
      const Alone isolated = alone(job, speeds.find(job), speeds, topology);
      job.deadline = later(job.arrival, from_seconds(tightness * to_seconds(isolated.requested)));
    }
  }
  return jobs;
}

}  // namespace

Result<TraceWorkload> load_workload(const WorkloadRequest& request, const Topology& topology) {
  std::vector<Diagnostic> diagnostics;
  auto jobs = load_trace(request.trace, request.format, diagnostics);
  if (!jobs) {
    return jobs.error();
  }
  std::vector<SpeedRow> rows(request.rows.begin(), request.rows.end());
  std::vector<std::string> notes;
  std::map<ProfileKey, ApplicationProfile> profiles;
  if (!request.profiles.empty()) {
    auto profiled = with_profiles(*std::move(jobs), request.profiles, topology);
    if (!profiled) {
      return profiled.error();
    }
    jobs = std::move(profiled->jobs);
    notes = std::move(profiled->notes);
    profiles = std::move(profiled->profiles);
    // Measured profiles go before the rows of a speeds file for the same kind of job.
    rows = preferring(std::move(profiled->rows), std::move(rows));
  }
  TraceWorkload loaded{.trace = request.trace, .speeds = SpeedBook(std::move(rows), topology)};
  loaded.speeds.add(std::move(profiles));
  Workload workload = prepare(*std::move(jobs), loaded.speeds);
  loaded.workloads.push_back(std::move(workload.jobs));
  for (int draw = 1; draw < request.deadline_draws; ++draw) {
    loaded.workloads.push_back(with_new_deadlines(loaded.workloads.front(), loaded.speeds, topology,
                                                  request.seed + static_cast<std::uint64_t>(draw)));
  }
  loaded.notes = std::move(notes);
  loaded.notes.insert(loaded.notes.end(), workload.notes.begin(), workload.notes.end());
  return loaded;
}

}  // namespace rubato
