// Trace files: the bytes that the pure readers of trace/ are fed with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/core/job.h"
#include "rubato/trace/read/reader.h"

namespace rubato {

/// Streams the file through a reader of the named format (or `auto`), 1 MiB at a time. The path
/// `-` is standard input. Fails if the file cannot be read or has an unusable row.
Status read_trace(const std::string& path, std::string_view format, ReaderSetup setup);

/// All jobs of a file, sorted by (arrival, file order) and numbered in that order; times stay as
/// the file has them. `diagnostics` gets every problem; warnings alone are no failure.
Result<std::vector<Job>> load_trace(const std::string& path, std::string_view format,
                                    std::vector<Diagnostic>& diagnostics);

}  // namespace rubato
