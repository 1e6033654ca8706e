#include "rubato/cli/demo/demo_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rubato/cli/text/job_table.h"
#include "rubato/cli/text/moment_text.h"
#include "rubato/cli/text/progress_bar.h"
#include "rubato/cli/text/text_table.h"

namespace rubato {
namespace {

double seconds_from(Instant from, const google::protobuf::Timestamp& to) {
  return to_seconds(instant_from(to) - from);
}

std::string seconds_text(double seconds) { return fmt::format("{:.0f} s", seconds); }

double part_done(const wire::JobStatus& job) {
  return job.steps_total() > 0 ? std::clamp(job.steps_done() / job.steps_total(), 0.0, 1.0) : 0;
}

std::string workers_cell(int workers) {
  std::string cells;
  for (int i = 0; i < workers; ++i) {
    cells += "■";
  }
  return cells;
}

std::string coloured(const std::string& text, std::string_view colour, bool use_colour) {
  return use_colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : text;
}

std::string state_cell(const wire::JobStatus& job, bool use_colour) {
  const bool is_bad = job.state() == "FAILED" || job.missed();
  const bool is_good = job.state() == "SUCCEEDED" || job.state() == "RUNNING";
  return coloured(job.state(), is_bad ? "31" : is_good ? "32" : "33", use_colour);
}

std::string promise_cell(const wire::JobStatus& job, Instant now) {
  if (!job.has_promised()) {
    return "";
  }
  if (is_final(job)) {
    return job.missed() ? "missed" : "kept";
  }
  return "in " + seconds_text(seconds_from(now, job.promised()));
}

std::string eta_cell(const wire::JobStatus& job, Instant now) {
  return is_final(job) || !job.has_eta()
             ? ""
             : "in " + seconds_text(std::max(0.0, seconds_from(now, job.eta())));
}

bool is_kept(const wire::JobStatus& job) { return job.state() == "SUCCEEDED" && !job.missed(); }

// `kept, 12 s to spare`.
std::string verdict_text(const wire::JobStatus& job) {
  if (job.state() == "REJECTED") {
    return "refused at once, with counter-offers";
  }
  if (!job.has_promised()) {
    return job.state() == "SUCCEEDED" ? "finished" : job.message();
  }
  if (job.state() != "SUCCEEDED") {
    return "BROKEN: " + job.message();
  }
  const double spare = seconds_from(instant_from(job.finished()), job.promised());
  return job.missed() ? fmt::format("BROKEN by {:.1f} s", -spare)
                      : fmt::format("kept, {:.1f} s to spare", spare);
}

// What its owner asked for.
std::string wish_text(const wire::JobStatus& job) {
  if (job.has_deadline()) {
    return fmt::format("done in {}",
                       seconds_text(seconds_from(instant_from(job.submitted()), job.deadline())));
  }
  const auto& limits = job.spec().workers();
  return limits.listed_size() == 1 ? fmt::format("exactly {} workers", limits.listed(0))
                                   : "when there is room";
}

}  // namespace

std::string demo_table(const wire::JobList& newest_first, Instant now, bool use_colour) {
  TextTable table({">ID", "NAME", "STATE", "WORKERS", "PROGRESS", ">DONE", ">ENDS", ">PROMISED"});
  for (int i = newest_first.jobs_size() - 1; i >= 0; --i) {
    const wire::JobStatus& job = newest_first.jobs(i);
    table.add({job.id(), job.spec().name(), state_cell(job, use_colour),
               workers_cell(job.workers()), progress_cells(part_done(job)),
               fmt::format("{:.0f} %", std::floor(100 * part_done(job))), eta_cell(job, now),
               promise_cell(job, now)});
  }
  return table.text();
}

std::string demo_change(const wire::JobStatus& before, const wire::JobStatus& now) {
  const std::string on = now.workers() > 0 ? fmt::format(" on {} worker{}", now.workers(),
                                                         now.workers() == 1 ? "" : "s")
                                           : "";
  if (now.restarts() > before.restarts()) {
    return fmt::format("a worker is gone; the others go on from step {:.0f}", now.steps_done());
  }
  if (before.state() != now.state()) {
    if (is_final(now)) {
      return now.state() == "SUCCEEDED" ? "SUCCEEDED"
                                        : fmt::format("{}: {}", now.state(), now.message());
    }
    return now.state() + on;
  }
  if (before.workers() != now.workers() && !is_final(now)) {
    return fmt::format("{} -> {} workers", before.workers(), now.workers());
  }
  if (now.has_promised() && !before.has_promised()) {
    return "promised";
  }
  return now.at_risk() && !before.at_risk() ? "may miss its promise" : "";
}

std::string promise_table(const wire::JobList& newest_first) {
  TextTable table({"JOB", "ASKED FOR", ">PROMISED", ">ACTUAL", "OUTCOME"});
  for (int i = newest_first.jobs_size() - 1; i >= 0; --i) {
    const wire::JobStatus& job = newest_first.jobs(i);
    const Instant submitted = instant_from(job.submitted());
    const bool has_run = job.has_finished() && job.state() != "REJECTED";
    table.add(
        {job.spec().name(), wish_text(job),
         job.has_promised() ? fmt::format("{:.1f} s", seconds_from(submitted, job.promised())) : "",
         has_run ? fmt::format("{:.1f} s", seconds_from(submitted, job.finished())) : "",
         verdict_text(job)});
  }
  return table.text();
}

PromiseCount count_promises(const wire::JobList& list) {
  PromiseCount count;
  for (const wire::JobStatus& job : list.jobs()) {
    if (job.has_promised()) {
      ++(is_kept(job) ? count.kept : count.broken);
    }
  }
  return count;
}

}  // namespace rubato
