// Trace-event JSON of a run, for ui.perfetto.dev or chrome://tracing.
//
// One process for each node, one thread for each GPU; a bar is a slice on every GPU it holds. The
// process "cluster" has counters (GPUs in use, GPUs up, jobs running and waiting) and an instant
// for every deadline. Times are microseconds since the start of the run.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "rubato/core/topology.h"
#include "rubato/report/report.h"

namespace rubato {

/// Takes the text piece by piece, in order; called about once for every 64 KiB.
using TextSink = std::function<void(std::string_view)>;

/// Runs without a history are left out. Of several runs, each gets processes of its own.
void write_perfetto(std::span<const RunReport> runs, const Topology& topology,
                    const TextSink& sink);

/// All of it in one string.
[[nodiscard]] std::string perfetto_trace(std::span<const RunReport> runs, const Topology& topology);

}  // namespace rubato
