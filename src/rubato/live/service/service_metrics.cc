// What Prometheus reads of the platform.
#include <map>

#include "rubato/live/service/metrics_text.h"
#include "rubato/live/service/service.h"

namespace rubato {
namespace {

void add_jobs(const Controller& controller, MetricsText& text) {
  std::map<std::pair<std::string, std::string>, int> counts;
  std::map<std::string, int> deadlines;
  for (const auto& [id, job] : controller.jobs()) {
    ++counts[{std::string(to_string(job.state)), std::string(to_string(job.job_class))}];
    if (job.state == LiveState::Rejected) {
      ++deadlines["refused"];
    } else if (job.has_promise() && job.state == LiveState::Succeeded) {
      ++deadlines[job.end.at <= job.promise.promised ? "met" : "missed"];
    }
  }
  text.begin_gauge("rubato_jobs", "Jobs by state and class.");
  for (const auto& [key, count] : counts) {
    text.add({{"state", key.first}, {"class", key.second}}, count);
  }
  text.begin_counter("rubato_deadline_total", "Deadlines by what became of them.");
  for (const auto& [outcome, count] : deadlines) {
    text.add({{"outcome", outcome}}, count);
  }
}

void add_gpus(const Controller& controller, MetricsText& text) {
  std::map<std::pair<std::string, std::string>, int> counts;
  const wire::NodeList list = controller.nodes();
  for (const wire::NodeStatus& node : list.nodes()) {
    counts[{node.up() ? "used" : "down", node.gpu_type()}] +=
        node.up() ? node.slots_used() : node.slots();
    counts[{"idle", node.gpu_type()}] += node.up() ? node.slots() - node.slots_used() : 0;
  }
  text.begin_gauge("rubato_gpus", "Slots by state and type.");
  for (const auto& [key, count] : counts) {
    text.add({{"state", key.first}, {"type", key.second}}, count);
  }
  text.begin_counter("rubato_gpu_seconds_total", "GPU time of the cluster by what came of it.");
  text.add({{"kind", "useful"}}, controller.usage().useful);
  text.add({{"kind", "lost"}}, controller.usage().lost);
  text.add({{"kind", "idle"}}, controller.usage().idle);
}

void add_tenants(const Controller& controller, Instant now, MetricsText& text) {
  text.begin_gauge("rubato_queue_share", "GPUs that each tenant holds now.");
  const wire::TenantList list = controller.tenants(now);
  for (const wire::TenantStatus& tenant : list.tenants()) {
    text.add({{"queue", tenant.name()}}, tenant.gpus_now());
  }
}

}  // namespace

std::string Service::metrics() {
  const auto text = ask<std::string>([this]() -> Answered<std::string> {
    MetricsText made;
    add_jobs(controller_, made);
    add_gpus(controller_, made);
    add_tenants(controller_, now_, made);
    made.begin_histogram("rubato_quote_error_ratio",
                         "How far finishes were from their first quote, over its duration.");
    HistogramCounts errors({0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1});
    for (const double error : controller_.quote_errors()) {
      errors.observe(error);
    }
    made.add({}, errors);
    made.begin_histogram("rubato_plan_duration_seconds", "Time to take one input in.");
    made.add({}, plan_seconds_);
    made.begin_counter("rubato_inputs_total", "Inputs journalled since the start.");
    made.add({}, static_cast<double>(inputs_));
    made.begin_gauge("rubato_build_info", "The version that runs.");
    made.add({{"version", options_.version}}, 1);
    return made.text();
  });
  const auto* made = std::get_if<std::string>(&text);
  return made == nullptr ? std::string{} : *made;
}

}  // namespace rubato
