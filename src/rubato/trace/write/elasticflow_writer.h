// Writes jobs as ElasticFlow CSV, the header spelling with submit_time and best_effort.
#pragma once

#include <string>

#include "rubato/core/job.h"

namespace rubato {

/// Both end in a newline.
[[nodiscard]] std::string elasticflow_header_line();
[[nodiscard]] std::string elasticflow_job_line(const Job& job);

/// False if the format has no column for something the job says: its tenant, softness, GPU type,
/// worker counts, weight or value.
[[nodiscard]] bool fits_elasticflow(const Job& job);

}  // namespace rubato
