#include "rubato/cli/text/cluster_text.h"

#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rubato/cli/text/job_table.h"
#include "rubato/cli/text/moment_text.h"
#include "rubato/cli/text/text_table.h"
#include "rubato/report/units.h"
#include "rubato/wire/what_if_answer.h"

namespace rubato {
namespace {

std::string node_state(const wire::NodeStatus& node) {
  std::string state = node.up() ? (node.draining() ? "draining" : "up") : "down";
  return node.emulated() ? state + " (emulated)" : state;
}

std::string node_jobs(const wire::NodeStatus& node) {
  std::set<std::string> jobs;
  for (const wire::SlotStatus& slot : node.slot()) {
    if (!slot.job().empty()) {
      jobs.insert(slot.job());
    }
  }
  return fmt::format("{}", fmt::join(jobs, " "));
}

std::string maintenance_text(const wire::NodeStatus& node, const WallClock& clock) {
  std::string text;
  for (const wire::MaintenanceWindow& window : node.maintenance()) {
    text += fmt::format("{}{} to {}", text.empty() ? "" : ", ", moment_text(window.from(), clock),
                        moment_text(window.to(), clock));
  }
  return text;
}

std::string ratio_text(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

// Both policies since the shadow began, one line each.
std::string result_table(const wire::PolicyStatus& status) {
  TextTable table({"POLICY", ">JOBS", ">REFUSED", ">FINISHED", ">DEADLINES MET", ">PROMISES BROKEN",
                   ">MEAN JCT", ">GPUS USED"});
  const auto add = [&](const std::string& name, const wire::PolicyResult& result) {
    table.add({name, std::to_string(result.jobs()), std::to_string(result.refused()),
               std::to_string(result.finished()),
               fmt::format("{} of {}", result.deadlines_met(), result.deadline_jobs()),
               fmt::format("{} of {}", result.promises_broken(), result.promises_made()),
               result.finished() == 0 ? "" : fmt::format("{:.0f} s", result.mean_jct_seconds()),
               ratio_text(result.gpu_utilization())});
  };
  add(status.live(), status.live_result());
  add(status.shadow() + " (shadow)", status.shadow_result());
  return table.text();
}

// `12.5 (63 %)`: hours and their share of all.
std::string hours_text(double hours, double all) {
  return fmt::format("{:.4g} ({:.0f} %)", hours, all > 0 ? 100 * hours / all : 0);
}

}  // namespace

std::string node_table(const wire::NodeList& list, const WallClock& clock) {
  TextTable table({"NAME", "STATE", "TYPE", ">USED", ">SLOTS", "JOBS", "HEARD", "MAINTENANCE"});
  for (const wire::NodeStatus& node : list.nodes()) {
    table.add({node.name(), node_state(node), node.gpu_type(), std::to_string(node.slots_used()),
               std::to_string(node.slots()), node_jobs(node),
               node.has_heard() ? moment_text(node.heard(), clock) : "",
               maintenance_text(node, clock)});
  }
  return table.text();
}

std::string tenant_table(const wire::TenantList& list) {
  TextTable table({"NAME", ">GUARANTEE", ">BORROW", ">BUDGET", ">USED", ">GPUS", ">JOBS"});
  for (const wire::TenantStatus& tenant : list.tenants()) {
    table.add(
        {tenant.name(), std::to_string(tenant.guarantee()),
         tenant.has_borrow() ? std::to_string(tenant.borrow()) : "any",
         tenant.budget_gpu_hours() > 0 ? fmt::format("{:.4g} h", tenant.budget_gpu_hours()) : "",
         fmt::format("{:.4g} h", tenant.used_gpu_hours()), std::to_string(tenant.gpus_now()),
         std::to_string(tenant.jobs())});
  }
  return table.text();
}

std::string policy_status_text(const wire::PolicyStatus& status) {
  std::string text = fmt::format("live    {}\n", status.live());
  if (status.shadow().empty()) {
    return text + "shadow  none\n";
  }
  text += fmt::format(
      "shadow  {}: {} of {} answers differ; deadlines met {} live, {} in the "
      "shadow\n",
      status.shadow(), status.answers_differ(), status.answers(),
      ratio_text(status.live_deadlines_met_ratio()),
      ratio_text(status.shadow_deadlines_met_ratio()));
  if (status.shadow_is_lost()) {
    text += "The shadow could not follow; set it again.\n";
  }
  return status.has_shadow_result() ? text + "\n" + result_table(status) : text;
}

std::string shift_text(const wire::WhatIfJob& job) {
  if (shift_of(job) == Shift::None) {
    return "";
  }
  if (!job.has_finish_then()) {
    return "does not end";
  }
  if (!job.has_finish_now()) {
    return "ends";
  }
  const double seconds =
      to_seconds(instant_from(job.finish_then()) - instant_from(job.finish_now()));
  return fmt::format("{} {}", human_seconds(std::abs(seconds)), seconds < 0 ? "earlier" : "later");
}

std::string met_text(const wire::WhatIfJob& job) {
  const auto word = [](const std::string& promise, bool is_met) {
    if (promise.empty()) {
      return is_met ? "kept" : "missed";
    }
    return promise == kPromiseAtRisk ? "at risk" : promise == kPromiseKept ? "kept" : "broken";
  };
  const std::string now = word(job.promise_now(), job.met_now());
  const std::string then = word(job.promise_then(), job.met_then());
  return now == then ? now : fmt::format("{} -> {}", now, then);
}

std::string what_if_text(const wire::WhatIfReply& reply, const WallClock& clock) {
  TextTable table({">JOB", "NAME", "NOW", "THEN", "CHANGE", "DEADLINE"});
  int same = 0;
  for (const wire::WhatIfJob& job : reply.jobs()) {
    if (shift_of(job) == Shift::None && job.met_now() == job.met_then() &&
        job.promise_now() == job.promise_then()) {
      ++same;
      continue;
    }
    table.add({job.job(), job.name(),
               job.has_finish_now() ? moment_text(job.finish_now(), clock) : "",
               job.has_finish_then() ? moment_text(job.finish_then(), clock) : "", shift_text(job),
               met_text(job)});
  }
  return fmt::format(
      "{}{} of {} jobs as now; deadlines met {} now, {} then; mean finish in {} now, {} then\n",
      same == reply.jobs_size() ? "" : table.text(), same, reply.jobs_size(),
      ratio_text(reply.deadlines_met_ratio_now()), ratio_text(reply.deadlines_met_ratio_then()),
      human_seconds(reply.mean_finish_seconds_now()),
      human_seconds(reply.mean_finish_seconds_then()));
}

std::string report_text(const wire::ReportReply& report, const WallClock& clock) {
  const double hours =
      report.gpu_hours_useful() + report.gpu_hours_lost() + report.gpu_hours_idle();
  const int due = report.promises_kept() + report.promises_broken();
  std::string text = fmt::format(
      "from {} to {}\n",
      report.from().seconds() == 0 ? "the beginning" : moment_text(report.from(), clock),
      moment_text(report.to(), clock));
  text += fmt::format(
      "  jobs       {} submitted: {} admitted, {} refused, {} finished, {} failed, "
      "{} cancelled\n",
      report.submitted(), report.admitted(), report.refused(), report.finished(), report.failed(),
      report.cancelled());
  text += fmt::format("  promises   {} made; of {} that came due {} kept, {} broken ({})\n",
                      report.promises_made(), due, report.promises_kept(), report.promises_broken(),
                      due == 0 ? "no record yet" : ratio_text(1.0 * report.promises_kept() / due));
  text += fmt::format(
      "  GPU-hours  useful {}, lost {}, idle {}\n", hours_text(report.gpu_hours_useful(), hours),
      hours_text(report.gpu_hours_lost(), hours), hours_text(report.gpu_hours_idle(), hours));
  text += fmt::format("  times      {} from submission to finish on average\n",
                      human_seconds(report.mean_jct_seconds()));
  text += fmt::format("  quotes     off by {} (median), {} (9 of 10)\n",
                      ratio_text(report.quote_error_p50()), ratio_text(report.quote_error_p90()));
  if (report.has_policy()) {
    text += "\n" + policy_status_text(report.policy());
  }
  if (report.jobs_size() > 0) {
    wire::JobList list;
    *list.mutable_jobs() = report.jobs();
    text += "\n" + job_table(list, clock, /*use_colour=*/false);
  }
  return text;
}

}  // namespace rubato
