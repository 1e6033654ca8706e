// A folder of measured profiles, one subfolder per application, for the jobs of a trace.
//
// DIR/<application>/ holds the files of profile_files.h. Only what the jobs and the GPU types of
// the cluster need is read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/core/job.h"
#include "rubato/core/topology.h"
#include "rubato/predict/application_profile.h"
#include "rubato/predict/speed_book.h"
#include "rubato/predict/speed_row.h"

namespace rubato {

/// The jobs, with work where the trace gave neither work nor duration, and what was measured of
/// them.
struct ProfiledJobs {
  std::vector<Job> jobs{};
  std::vector<SpeedRow> rows{};  // One set per (model, batch) that occurs and GPU type.
  std::map<ProfileKey, ApplicationProfile> profiles{};
  /// What was taken from neighbouring batches, one line per kind, or from no type in particular.
  std::vector<std::string> notes{};
};

/// A job that names no application is left as it is. Fails if a named application has no profile
/// for any GPU type of the cluster, or if a file is wrong.
[[nodiscard]] Result<ProfiledJobs> with_profiles(std::vector<Job> jobs,
                                                 const std::string& directory,
                                                 const Topology& topology);

/// `rows`, and those of `others` whose (model, batch) has none among them.
[[nodiscard]] std::vector<SpeedRow> preferring(std::vector<SpeedRow> rows,
                                               std::vector<SpeedRow> others);

}  // namespace rubato
