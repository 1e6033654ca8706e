// Metrics of jobs: taken from agents, and shown to those who may see the job.
#include <algorithm>

#include <fmt/core.h>

#include "rubato/live/service/service.h"

namespace rubato {
namespace {

using launch::metrics::MetricPoint;
using launch::metrics::MetricSeries;

// Points by step, into two lists of a message.
template <typename Line>
void put_points(const launch::metrics::PointSeries& series, std::size_t points_max, Line& line) {
  for (const MetricPoint& point : points_by_step(series.points(), points_max)) {
    line.add_steps(static_cast<double>(point.step));
    line.add_values(point.value);
  }
}

}  // namespace

void Service::take_metrics(const std::string& agent, const wire::JobMetrics& metrics) {
  const LiveJob* job = controller_.find(job_id_of(metrics.job()));
  // Also of a job that is over or elsewhere by now: it was trained there.
  if (job != nullptr && job->agents.contains(agent)) {
    metrics_.add(job->id, metrics);
  }
}

Answered<wire::JobMetricsReply> Service::job_metrics(const Caller& caller, const std::string& id,
                                                     const MetricQuery& query) {
  const auto found = job(caller, id);
  if (const auto* refusal = std::get_if<Refusal>(&found)) {
    return *refusal;
  }
  wire::JobMetricsReply reply;
  reply.set_job(id);
  metrics_.look(job_id_of(id), [&](const MetricSeries& series) {
    for (const auto& [name, points] : series.names()) {
      reply.add_names(name);
      if (query.names.empty() || std::ranges::find(query.names, name) != query.names.end()) {
        wire::MetricLine& line = *reply.add_lines();
        line.set_name(name);
        put_points(points, query.points, line);
      }
    }
  });
  return reply;
}

Answered<wire::MetricComparison> Service::compare_metrics(const Caller& caller,
                                                          const std::vector<std::uint64_t>& jobs,
                                                          const MetricQuery& query) {
  wire::MetricComparison reply;
  reply.set_name(query.names.empty() ? std::string{} : query.names.front());
  for (const std::uint64_t id : jobs) {
    const auto found = job(caller, std::to_string(id));
    if (const auto* refusal = std::get_if<Refusal>(&found)) {
      return *refusal;
    }
    const auto& status = std::get<wire::JobStatus>(found);
    wire::JobMetricLine& line = *reply.add_jobs();
    line.set_job(status.id());
    line.set_name(status.spec().name());
    line.set_state(status.state());
    metrics_.look(JobId{id}, [&](const MetricSeries& series) {
      if (const auto points = series.names().find(reply.name()); points != series.names().end()) {
        put_points(points->second, query.points, line);
      }
    });
  }
  return reply;
}

}  // namespace rubato
