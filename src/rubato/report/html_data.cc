#include "rubato/report/html_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "rubato/metrics/cdf.h"
#include "rubato/metrics/samples.h"
#include "rubato/metrics/timeline.h"
#include "rubato/report/escape.h"
#include "rubato/report/gantt.h"

namespace rubato {
namespace {

using Json = nlohmann::ordered_json;

// A run that has a history, and its place among all runs.
struct Pictured {
  const RunReport* run = nullptr;
  std::size_t row = 0;
};

std::vector<Pictured> pictured_runs(std::span<const RunReport> runs) {
  std::vector<Pictured> pictured;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].history != nullptr) {
      pictured.push_back({.run = &runs[i], .row = i});
    }
  }
  return pictured;
}

// The time all pictures share, and how it is written in ticks.
struct Clock {
  Instant start{};
  Instant end{};
  double tick_seconds = 1;

  [[nodiscard]] std::int64_t ticks(Instant moment) const {
    return moment == kNever ? -1 : std::llround(to_seconds(moment - start) / tick_seconds);
  }
};

Clock clock_of(std::span<const Pictured> runs) {
  Clock clock{.start = runs.empty() ? Instant{} : kNever};
  for (const Pictured& pictured : runs) {
    const History& history = *pictured.run->history;
    clock.start = std::min(clock.start, history.start);
    clock.end = std::max(clock.end, history.end);
    for (const JobRecord& job : history.jobs) {
      clock.start = std::min(clock.start, job.arrival);
    }
  }
  clock.end = std::max(clock.end, clock.start + Duration{1});
  clock.tick_seconds = 0.001;
  while (to_seconds(clock.end - clock.start) / clock.tick_seconds > 1e6) {
    clock.tick_seconds *= 10;
  }
  return clock;
}

// The jobs of all runs, and which of them are described.
struct JobIndex {
  std::vector<JobId> described{};        // Rising.
  std::map<JobId, std::size_t> place{};  // Of every job: described ones first.
};

JobIndex index_jobs(std::span<const Pictured> runs, std::size_t job_cells) {
  std::vector<JobId> ids;
  for (const Pictured& pictured : runs) {
    for (const JobRecord& job : pictured.run->history->jobs) {
      ids.push_back(job.id);
    }
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());

  JobIndex index;
  const std::size_t kept = runs.empty() ? 2 : std::max<std::size_t>(2, job_cells / runs.size());
  for (const std::size_t i : thinned_indices(ids.size(), kept)) {
    index.place.emplace(ids[i], index.described.size());
    index.described.push_back(ids[i]);
  }
  for (const JobId id : ids) {
    index.place.emplace(id, index.place.size());
  }
  return index;
}

const JobRecord* find(const History& history, JobId id) {
  const auto found = std::ranges::lower_bound(history.jobs, id, {}, &JobRecord::id);
  return found != history.jobs.end() && found->id == id ? &*found : nullptr;
}

std::string name_of(const History& history, const JobRecord& job) {
  const auto at = static_cast<std::size_t>(&job - history.jobs.data());
  return at < history.names.size() ? history.names[at] : fmt::format("job {}", job.id.value);
}

// What the jobs are, whoever schedules them: taken from the first run that has them.
Json job_columns(const JobIndex& index, std::span<const Pictured> runs, const Clock& clock,
                 std::size_t name_bytes) {
  Json jobs{{"name", Json::array()},
            {"class", Json::array()},
            {"arrival", Json::array()},
            {"deadline", Json::array()}};
  for (const JobId id : index.described) {
    for (const Pictured& pictured : runs) {
      const History& history = *pictured.run->history;
      if (const JobRecord* job = find(history, id)) {
        jobs["name"].push_back(shortened(name_of(history, *job), name_bytes));
        jobs["class"].push_back(static_cast<int>(job->job_class));
        jobs["arrival"].push_back(clock.ticks(job->arrival));
        jobs["deadline"].push_back(clock.ticks(job->deadline));
        break;
      }
    }
  }
  return jobs;
}

// Four digits are more than a screen can show.
double rounded(double value) {
  if (value <= 0) {
    return 0;
  }
  const double unit = std::pow(10, std::floor(std::log10(value)) - 3);
  return unit < 1 ? std::round(value / unit) / std::round(1 / unit)
                  : std::round(value / unit) * unit;
}

Json cdf_columns(std::span<const double> sorted) {
  Json values = Json::array();
  Json shares = Json::array();
  for (const CdfPoint& point : cdf(sorted)) {
    values.push_back(rounded(point.value));
    shares.push_back(rounded(point.share));
  }
  return Json::array({values, shares});
}

// Rounded, but late stays late: a reader compares it with both.
std::int64_t finish_ticks(const JobRecord& job, const Clock& clock) {
  std::int64_t finish = clock.ticks(job.finish);
  for (const Instant due : {job.deadline, job.promised}) {
    if (job.finish != kNever && job.finish > due) {
      finish = std::max(finish, clock.ticks(due) + 1);
    }
  }
  return finish;
}

// What this policy made of each described job.
void add_outcomes(Json& out, const JobIndex& index, const History& history, const Clock& clock) {
  for (const char* name : {"start", "finish", "promised", "resizes"}) {
    out[name] = Json::array();
  }
  for (const JobId id : index.described) {
    const JobRecord* job = find(history, id);
    out["start"].push_back(job != nullptr ? clock.ticks(job->first_start) : -1);
    out["finish"].push_back(job != nullptr ? finish_ticks(*job, clock) : -1);
    out["promised"].push_back(job != nullptr ? clock.ticks(job->promised) : -1);
    out["resizes"].push_back(job != nullptr ? job->resizes : 0);
  }
}

void add_gantt(Json& out, const JobIndex& index, const Gantt& gantt, const Clock& clock) {
  Json rects = Json::array();
  std::int64_t before = 0;
  std::size_t left_out = gantt.left_out;
  for (const GanttRect& rect : gantt.rects) {
    const std::int64_t from = clock.ticks(rect.from);
    const std::int64_t length = clock.ticks(rect.to) - from;
    const auto job = index.place.find(rect.job);
    if (length <= 0 || job == index.place.end()) {
      ++left_out;
      continue;
    }
    for (const std::int64_t number :
         {static_cast<std::int64_t>(job->second), from - before, length,
          static_cast<std::int64_t>(rect.first), static_cast<std::int64_t>(rect.count)}) {
      rects.push_back(number);
    }
    before = from;
  }
  out["rects"] = std::move(rects);
  out["left_out"] = left_out;
}

Json use_line(const History& history, const Bins& bins) {
  Json line = Json::array();
  for (const double share : utilization_over_time(history, bins)) {
    line.push_back(std::lround(share * 1000));
  }
  return line;
}

// One row for each node: [name, first GPU, GPUs]. Of very many nodes only some, evenly.
Json node_lanes(const Topology& topology, std::size_t nodes_max) {
  const std::vector<int> offsets = pool_offsets(topology);
  std::vector<NodeId> nodes;
  for (const Pool& pool : topology.pools()) {
    nodes.insert(nodes.end(), pool.nodes.begin(), pool.nodes.end());
  }
  Json lanes = Json::array();
  for (const std::size_t i : thinned_indices(nodes.size(), nodes_max)) {
    const Node& node = topology.node(nodes[i]);
    const std::string& type = topology.pool(node.pool).gpu_type;
    lanes.push_back(
        Json::array({fmt::format("node {}{}{}", node.id.value, type.empty() ? "" : " ", type),
                     offsets.at(node.pool.value) + node.first_gpu, node.gpus}));
  }
  return lanes;
}

// The lines of one policy in the charts.
Json lines_of(const History& history, const Bins& bins) {
  Json out;
  out["jct"] = cdf_columns(sorted_jcts(history));
  out["slowdown"] = cdf_columns(sorted_slowdowns(history));
  out["used"] = use_line(history, bins);
  out["due"] = Json::array();
  out["met"] = Json::array();
  for (const DeadlineCount& count : deadlines_over_time(history, bins)) {
    out["due"].push_back(count.due);
    out["met"].push_back(count.met);
  }
  return out;
}

}  // namespace

std::string html_data(std::span<const RunReport> runs, const Topology& topology,
                      const HtmlLimits& limits) {
  const std::vector<Pictured> pictured = pictured_runs(runs);
  const Clock clock = clock_of(pictured);
  const JobIndex index = index_jobs(pictured, limits.job_cells);
  const Bins bins{.from = clock.start, .to = clock.end, .count = limits.bins};

  Json data;
  data["tick"] = clock.tick_seconds;
  data["span"] = clock.ticks(clock.end);
  data["gpus"] = topology.gpus();
  data["nodes"] = node_lanes(topology, limits.nodes);
  data["jobs"] = job_columns(index, pictured, clock, limits.name_bytes);
  data["runs"] = Json::array();
  for (const Pictured& entry : pictured) {
    const History& history = *entry.run->history;
    Json out = lines_of(history, bins);
    out["policy"] = entry.run->policy;
    out["row"] = entry.row;
    add_outcomes(out, index, history, clock);
    add_gantt(out, index, gantt_rects(history.bars, topology, limits.rects / pictured.size()),
              clock);
    data["runs"].push_back(std::move(out));
  }
  return data.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace rubato
