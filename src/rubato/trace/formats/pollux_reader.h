// Workloads of Pollux (OSDI'21) and Sia (SOSP'23): CSV without durations; profiles give the speed.
//
// name -> name; time -> arrival; application -> model; num_replicas|num_gpus -> requested;
// batch_size -> batch. ElasticFlow's copy adds ddl (absolute) -> deadline and max_sample, whose
// samples in steps of batch_size -> work. Sia adds category: a `rigid` job runs on exactly the
// GPUs it names. Without ddl jobs are best-effort.
#pragma once

#include <memory>

#include "rubato/trace/read/reader.h"

namespace rubato {

[[nodiscard]] std::unique_ptr<Reader> make_pollux_reader(ReaderSetup setup);

}  // namespace rubato
