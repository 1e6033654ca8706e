// SenseTime Helios (Hu et al., SC'21): `cluster_log.csv` of each of its clusters.
//
// job_id -> name; vc -> tenant; gpu_num -> requested; submit_time (a date) -> arrival; duration ->
// duration. There are no models and no deadlines: jobs are best-effort and work is zero. Rows of
// CPU jobs (gpu_num 0) and of jobs that never ran (duration 0) are skipped.
#pragma once

#include <memory>

#include "rubato/trace/read/reader.h"

namespace rubato {

[[nodiscard]] std::unique_ptr<Reader> make_helios_reader(ReaderSetup setup);

}  // namespace rubato
