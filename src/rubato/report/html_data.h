// JSON inside the HTML report: what web/src/report draws the charts from.
//
// Times are whole ticks since `start`; -1 is never. One tick is `tick` seconds, at most a millionth
// of the whole span, but no less than a millisecond.
//
//   {"tick", "span", "gpus", "nodes": [[name, first GPU, GPUs]...],
//    "jobs": {"name": [], "class": [], "arrival": [], "deadline": []},
//    "runs": [{"policy", "row", "jct": [[seconds], [share]], "slowdown": likewise,
//              "used": [0..1000 in each bin],
//              "due": [deadlines come by the end of each bin], "met": [those of them met],
//              "start": [], "finish": [], "promised": [], "resizes": [] (for each of jobs),
//              "rects": [job, from - previous from, to - from, first, count, ...], "left_out"}]}
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "rubato/core/topology.h"
#include "rubato/report/report.h"

namespace rubato {

/// What keeps the file small; each limit is for all runs together, except those per line.
struct HtmlLimits {
  std::size_t rects = 90'000;
  std::size_t job_cells = 24'000;  // Jobs times runs; beyond that jobs are thinned evenly.
  std::size_t bins = 240;          // Points of a line over time.
  std::size_t nodes = 4'000;
  std::size_t name_bytes = 60;
};

/// Only runs with a history are in it; "row" is their index among all runs.
[[nodiscard]] std::string html_data(std::span<const RunReport> runs, const Topology& topology,
                                    const HtmlLimits& limits);

}  // namespace rubato
