// Alibaba PAI (Weng et al., NSDI'22; cluster-trace-gpu-v2020): `pai_task_table.csv`, no header.
//
// One row is one task and becomes one job. job_name/task_name -> name; start_time -> arrival (the
// table has no submission time); end_time - start_time -> duration; inst_num instances of plan_gpu
// percent of a GPU each -> requested, rounded up to whole GPUs, since we do not share one. gpu_type
// is kept, except MISC and CPU, which name no type. Tasks without GPUs and tasks that have not
// started or ended are skipped.
#pragma once

#include <memory>

#include "rubato/trace/read/reader.h"

namespace rubato {

[[nodiscard]] std::unique_ptr<Reader> make_pai_reader(ReaderSetup setup);

}  // namespace rubato
