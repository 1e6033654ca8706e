// A trace file made ready to run: its jobs, once for each seed, and the speeds they have.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/core/job.h"
#include "rubato/core/topology.h"
#include "rubato/predict/speed_book.h"

namespace rubato {

struct WorkloadRequest {
  std::string trace{};
  std::string format = "auto";
  std::string profiles{};            // Folder; empty for none.
  std::span<const SpeedRow> rows{};  // Of a speeds file.
  std::uint64_t seed = 0;
  int deadline_draws = 1;  // Workloads wanted: the first as written, others with new deadlines.
};

struct TraceWorkload {
  std::string trace{};
  SpeedBook speeds;
  std::vector<std::vector<Job>> workloads{};
  std::vector<std::string> notes{};  // Where speeds and work come from.
};

[[nodiscard]] Result<TraceWorkload> load_workload(const WorkloadRequest& request,
                                                  const Topology& topology);

}  // namespace rubato
