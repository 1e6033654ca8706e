// Our own trace format, `rubato-trace/2`: strict, versioned, every field of a Job.
//
// See docs/traces.md for the specification and rubato_trace.h for the names of the fields.
#pragma once

#include <memory>

#include "rubato/trace/read/reader.h"

namespace rubato {

[[nodiscard]] std::unique_ptr<Reader> make_rubato_reader(ReaderSetup setup);

}  // namespace rubato
