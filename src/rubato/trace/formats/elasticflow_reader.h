// Traces of ElasticFlow (ASPLOS'23), in both spellings of their header.
//
// job_id -> name; submission_time|submit_time -> arrival; num_iteration|iteration -> work;
// model_name -> model; deadline|ddl (absolute) -> deadline; batch_size -> batch; num_gpu ->
// requested; duration -> duration. best_effort = 1 makes the job best-effort and its deadline
// meaningless. real_iteration and real_duration, which some files have, are not used.
#pragma once

#include <memory>

#include "rubato/trace/read/reader.h"

namespace rubato {

[[nodiscard]] std::unique_ptr<Reader> make_elasticflow_reader(ReaderSetup setup);

}  // namespace rubato
