// A folder of measured profiles, one subfolder per application, for the jobs of a trace.
//
// DIR/<application>/placements.csv, scalability.csv (may be absent) and validation-<batch>.csv; the
// pure parsing is predict/profile_rows.h. Only what the jobs need is read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/core/job.h"
#include "rubato/core/topology.h"
#include "rubato/predict/application_profile.h"
#include "rubato/predict/speed_row.h"

namespace rubato {

/// The jobs, with work where the trace gave neither work nor duration, and what was measured of
/// them.
struct ProfiledJobs {
  std::vector<Job> jobs{};
  std::vector<SpeedRow> rows{};  // One set per (model, batch) that occurs, of the cluster's type.
  std::map<std::string, ApplicationProfile> profiles{};  // By model.
  std::string gpu_type{};                                // The cluster's, on which they hold.
  std::vector<std::string> notes{};  // What was taken from neighbouring batches, one line per kind.
};

/// A job that names no application is left as it is. Fails if a named application has no profile,
/// if a file is wrong, or if the cluster has several GPU types: profiles do not say which one was
/// used.
[[nodiscard]] Result<ProfiledJobs> with_profiles(std::vector<Job> jobs,
                                                 const std::string& directory,
                                                 const Topology& topology);

/// `rows`, and those of `others` whose (model, batch) has none among them.
[[nodiscard]] std::vector<SpeedRow> preferring(std::vector<SpeedRow> rows,
                                               std::vector<SpeedRow> others);

}  // namespace rubato
