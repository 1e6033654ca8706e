// Microsoft Philly (Jeon et al., ATC'19; msr-fiddle/philly-traces): `cluster_job_log`, a JSON
// array.
//
// jobid -> name; vc -> tenant; submitted_time (a date) -> arrival; the GPUs of the widest attempt
// -> requested; the run time of all attempts together -> duration, since a retry repeats the work
// on the same GPUs. No models, no deadlines: best-effort, work zero. Jobs without a finished
// attempt or without GPUs are skipped. All final states (Pass, Killed, Failed) are kept: all held
// GPUs.
#pragma once

#include <memory>

#include "rubato/trace/read/reader.h"

namespace rubato {

[[nodiscard]] std::unique_ptr<Reader> make_philly_reader(ReaderSetup setup);

}  // namespace rubato
