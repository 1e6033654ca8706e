// Traces of Gavel (OSDI'20) and Shockwave (NSDI'23): tab-separated, no header, four layouts.
//
//  7 fields (2019): type, command, steps argument, needs data, steps, arrival, scale factor
//  9 fields (2020): type, command, steps argument, needs data, steps, scale factor, weight, SLO,
//                   arrival
// 10 fields:        the same with the working directory after the command
// 11 fields:        the same with Shockwave's mode (static, accordion, gns) after the scale factor
//
// `ResNet-18 (batch size 64)` -> model `ResNet-18` and batch 64; steps -> work; scale factor ->
// requested; weight -> weight. A positive SLO is a multiple of a duration the trace does not have,
// so it cannot become a deadline: a warning says so, and all jobs are best-effort.
#pragma once

#include <memory>

#include "rubato/trace/read/reader.h"

namespace rubato {

[[nodiscard]] std::unique_ptr<Reader> make_gavel_reader(ReaderSetup setup);

}  // namespace rubato
