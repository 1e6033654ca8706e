#include <algorithm>
#include <sstream>

#include <fmt/core.h>

#include "rubato/base/parse.h"
#include "rubato/launch/metrics/metric.h"
#include "rubato/live/rest/rest_functions.h"

namespace rubato {
namespace {

// What stands between commas.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string parameter_of(const RestCall& call, const std::string& name) {
  const auto found = call.query.find(name);
  return found == call.query.end() ? std::string{} : found->second;
}

// Names and number of points; `parameter` holds the names.
Answered<MetricQuery> metric_query(const RestCall& call, const std::string& parameter) {
  const auto points = query_count(call, "points", 500, launch::metrics::kPointsMax);
  if (const auto* const refusal = std::get_if<Refusal>(&points)) {
    return *refusal;
  }
  MetricQuery query{.names = parts_of(parameter_of(call, parameter)),
                    .points = static_cast<std::size_t>(std::get<std::uint64_t>(points))};
  if (query.points == 0) {
    return Refusal{.message = "points: expected at least 1, found 0", .field = "points"};
  }
  return query;
}

// Numbers of jobs, each once, in the order given.
Answered<std::vector<std::uint64_t>> compared_jobs(const RestCall& call) {
  std::vector<std::uint64_t> jobs;
  const auto parts = parts_of(parameter_of(call, "jobs"));
  for (const std::string& part : parts) {
    const auto id = parse_int(part);
    if (!id || *id < 1 || parts.size() > kJobsComparedMax) {
      return Refusal{.message = fmt::format(
                         "jobs: expected up to {} numbers of jobs, such as 3,17, found '{}'",
                         kJobsComparedMax, parameter_of(call, "jobs").substr(0, 100)),
                     .field = "jobs"};
    }
    if (std::ranges::find(jobs, static_cast<std::uint64_t>(*id)) == jobs.end()) {
      jobs.push_back(static_cast<std::uint64_t>(*id));
    }
  }
  if (jobs.empty()) {
    return Refusal{.message = "jobs: is required: which jobs are compared?", .field = "jobs"};
  }
  return jobs;
}

}  // namespace

HttpReply rest_job_metrics(const RestContext& context, const RestCall& call) {
  const auto query = metric_query(call, "names");
  if (const auto* const refusal = std::get_if<Refusal>(&query)) {
    return problem_reply(*refusal);
  }
  return reply_of(
      context.platform.job_metrics(call.caller, call.arguments[0], std::get<MetricQuery>(query)));
}

HttpReply rest_compare_metrics(const RestContext& context, const RestCall& call) {
  const auto jobs = compared_jobs(call);
  if (const auto* const refusal = std::get_if<Refusal>(&jobs)) {
    return problem_reply(*refusal);
  }
  auto query = metric_query(call, "name");
  if (const auto* const refusal = std::get_if<Refusal>(&query)) {
    return problem_reply(*refusal);
  }
  if (std::get<MetricQuery>(query).names.size() != 1) {
    return problem_reply(
        Refusal{.message = "name: expected the name of one metric, such as loss", .field = "name"});
  }
  return reply_of(context.platform.compare_metrics(
      call.caller, std::get<std::vector<std::uint64_t>>(jobs), std::get<MetricQuery>(query)));
}

}  // namespace rubato
