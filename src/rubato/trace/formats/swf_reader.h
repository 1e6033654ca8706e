// The Standard Workload Format of the Parallel Workloads Archive: `;` comments, 18 numbers a row.
//
// Job number -> name; submit time -> arrival (seconds since UnixStartTime, which is not added, so
// that arrivals stay small); run time -> duration; allocated processors, else requested ones, ->
// requested (we read a processor as a GPU); user -> tenant; executable -> model `app-N`. -1 means
// unknown. Jobs that never ran are skipped. Jobs are best-effort: a requested time is a limit, not
// a deadline.
#pragma once

#include <memory>

#include "rubato/trace/read/reader.h"

namespace rubato {

[[nodiscard]] std::unique_ptr<Reader> make_swf_reader(ReaderSetup setup);

}  // namespace rubato
