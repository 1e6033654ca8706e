// Slurm accounting: the output of `sacct --json` (job steps inside a job are not looked at).
//
// job_id -> name; account -> tenant; time.submission -> arrival (Unix seconds); time.end -
// time.start, else time.elapsed -> duration; GPUs of tres.allocated (type gres, name gpu), else of
// tres.requested -> requested; a typed entry (gpu:a100) -> gpu_type. Jobs without GPUs, and jobs
// that have not started or not ended, are skipped. Best-effort: a time limit is no deadline.
#pragma once

#include <memory>

#include "rubato/trace/read/reader.h"

namespace rubato {

[[nodiscard]] std::unique_ptr<Reader> make_sacct_reader(ReaderSetup setup);

}  // namespace rubato
