#include "rubato/cli/text/job_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/text/moment_text.h"
#include "rubato/cli/text/progress_bar.h"
#include "rubato/cli/text/quote_text.h"
#include "rubato/cli/text/text_table.h"
#include "rubato/report/units.h"
#include "rubato/spec/job_values.h"
#include "rubato/spec/shell_words.h"

namespace rubato {
namespace {

constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr int kFailed = 1;  // Of a job that failed without a code of its own.

double done_ratio(const wire::JobStatus& job) {
  const double ratio = job.steps_total() > 0 ? job.steps_done() / job.steps_total() : 0;
  return std::isfinite(ratio) ? std::clamp(ratio, 0.0, 1.0) : 0;
}

std::string_view state_colour(const wire::JobStatus& job) {
  if (job.state() == "FAILED" || job.state() == "REJECTED" || job.missed()) {
    return "31";
  }
  if (job.at_risk() || job.state() == "RECOVERING" || job.state() == "SUSPENDED") {
    return "33";
  }
  return job.state() == "SUCCEEDED" || job.state() == "RUNNING" ? "32" : "0";
}

std::string state_text(const wire::JobStatus& job, bool use_colour) {
  return use_colour ? fmt::format("\x1b[{}m{}\x1b[0m", state_colour(job), job.state())
                    : job.state();
}

std::string note_text(const wire::JobStatus& job) {
  if (job.missed()) {
    return "promise missed";
  }
  if (job.at_risk()) {
    return "at risk";
  }
  return job.reason();
}

std::string percent_text(const wire::JobStatus& job) {
  return fmt::format("{:.0f} %", std::floor(100 * done_ratio(job)));
}

// One block for each number of workers that is planned, as high as it is many.
std::string plan_picture(const wire::JobStatus& job) {
  int most = 1;
  for (const wire::PlannedShare& share : job.plan()) {
    most = std::max(most, share.workers());
  }
  std::string text;
  for (const wire::PlannedShare& share : job.plan()) {
    const auto height = static_cast<std::size_t>(std::max(0, share.workers()) * 7 / most);
    text += share.workers() == 0 ? " " : kBlocks[height];
  }
  return text;
}

std::string eta_text(const wire::JobStatus& job, const WallClock& clock) {
  if (!job.has_eta()) {
    return "";
  }
  std::string text = moment_text(job.eta(), clock);
  if (job.has_eta_early() && job.has_eta_late()) {
    text += fmt::format(" ({} to {})", moment_text(job.eta_early(), clock),
                        moment_text(job.eta_late(), clock));
  }
  return text;
}

/// Lines of a page: a word, then what there is to say, if anything.
class PageText {
 public:
  void add(std::string_view word, const std::string& text) {
    if (!text.empty()) {
      text_ += fmt::format("  {:<10}{}\n", word, text);
    }
  }
  std::string text_{};
};

std::string speed_text(const wire::JobStatus& job) {
  std::string text = fmt::format("{} of {} steps ({})", std::floor(job.steps_done()),
                                 job.steps_total(), percent_text(job));
  if (job.steps_per_second() > 0) {
    text += fmt::format(", {:.3g} steps/s", job.steps_per_second());
  }
  if (job.loss() != 0) {
    text += fmt::format(", loss {:.4g}", job.loss());
  }
  return text;
}

std::string promise_text(const wire::JobStatus& job, const WallClock& clock) {
  if (!job.has_deadline() && !job.has_promised()) {
    return "none: best effort";
  }
  std::string text = job.has_deadline() ? moment_text(job.deadline(), clock) : "";
  if (job.has_promised()) {
    text += fmt::format("{}promised by {}", text.empty() ? "" : ", ",
                        moment_text(job.promised(), clock));
  }
  return text + (job.missed() ? ", missed" : job.at_risk() ? ", at risk" : "");
}

std::string times_text(const wire::JobStatus& job, const WallClock& clock) {
  std::string text;
  for (const auto& [word, moment, is_known] :
       {std::tuple{"submitted", &job.submitted(), job.has_submitted()},
        std::tuple{"started", &job.started(), job.has_started()},
        std::tuple{"finished", &job.finished(), job.has_finished()}}) {
    if (is_known) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", word, moment_text(*moment, clock));
    }
  }
  return text;
}

std::string exit_text(const wire::JobStatus& job) {
  if (job.state() != "FAILED" && job.exit_code() == 0) {
    return "";
  }
  return fmt::format("code {}{}{}", job.exit_code(), job.exit_cause().empty() ? "" : ", ",
                     job.exit_cause());
}

}  // namespace

bool is_final(const wire::JobStatus& job) {
  return job.state() == "SUCCEEDED" || job.state() == "FAILED" || job.state() == "CANCELLED" ||
         job.state() == "REJECTED";
}

std::string job_table(const wire::JobList& list, const WallClock& clock, bool use_colour) {
  TextTable table(
      {">ID", "NAME", "TENANT", "STATE", "CLASS", ">WORKERS", ">DONE", "ETA", "DEADLINE", "NOTE"});
  for (const wire::JobStatus& job : list.jobs()) {
    const bool is_over = job.has_finished();
    table.add({job.id(), job.spec().name(), job.spec().tenant(), state_text(job, use_colour),
               job.class_(), std::to_string(job.workers()), percent_text(job),
               is_over         ? moment_text(job.finished(), clock)
               : job.has_eta() ? moment_text(job.eta(), clock)
                               : "",
               job.has_deadline() ? moment_text(job.deadline(), clock) : "", note_text(job)});
  }
  return table.text();
}

std::string job_page(const wire::JobStatus& job, const WallClock& clock, bool use_colour) {
  PageText page;
  page.text_ = fmt::format("job {}  {}{}{}\n", job.id(), job.spec().name(),
                           job.spec().name().empty() ? "" : "  ", state_text(job, use_colour));
  const auto& command = job.spec().command();
  page.add("command", shell_text(std::vector<std::string>(command.begin(), command.end())));
  page.add("kind", job.spec().kind() == "emulated" ? "emulated: no program runs" : "");
  page.add("progress", fmt::format("{}  {}", progress_cells(done_ratio(job)), speed_text(job)));
  page.add("workers",
           fmt::format("{} (accepts {}){}{}", job.workers(), workers_text(job.spec().workers()),
                       job.slots_size() > 0 ? " on " : "", fmt::join(job.slots(), " ")));
  page.add("memory", job.memory().text());
  if (job.plan_size() > 0) {
    page.add("plan", fmt::format("{}  {}", plan_picture(job), plan_text(job.plan())));
  }
  page.add("deadline", promise_text(job, clock));
  page.add("eta", is_final(job) ? "" : eta_text(job, clock));
  page.add("times", times_text(job, clock));
  page.add("used", fmt::format("{:.3g} GPU-hours, {} resizes, {} restarts",
                               job.gpu_seconds() / 3'600, job.resizes(), job.restarts()));
  page.add("exit", exit_text(job));
  page.add("why", job.message().empty() ? job.reason() : job.message());
  return page.text_;
}

std::string job_progress_line(const wire::JobStatus& job, const WallClock& clock) {
  std::string line =
      fmt::format("  {} {:>5}  step {:.0f} of {:.0f}  {} worker{}", progress_cells(done_ratio(job)),
                  percent_text(job), std::floor(job.steps_done()), job.steps_total(), job.workers(),
                  job.workers() == 1 ? "" : "s");
  if (job.steps_per_second() > 0) {
    line += fmt::format("  {:.3g} steps/s", job.steps_per_second());
  }
  if (job.has_eta() && !is_final(job)) {
    line += fmt::format("  ETA {}", moment_text(job.eta(), clock));
  }
  return line;
}

std::string job_change_line(const wire::JobStatus& before, const wire::JobStatus& now,
                            const WallClock& clock) {
  std::string line;
  if (before.state() != now.state()) {
    line = fmt::format("job {} {}", now.id(), now.state());
    if (now.workers() > 0) {
      line += fmt::format(" on {} worker{}", now.workers(), now.workers() == 1 ? "" : "s");
    }
    if (!now.message().empty() && now.message() != before.message()) {
      line += fmt::format(": {}", now.message());
    }
  } else if (before.workers() != now.workers()) {
    line = fmt::format("job {} {} -> {} workers", now.id(), before.workers(), now.workers());
  }
  if (now.at_risk() && !before.at_risk()) {
    line += fmt::format("{}job {} may miss its promise{}; rubato why {} says what would help",
                        line.empty() ? "" : "\n", now.id(),
                        now.has_eta() ? ": ETA " + moment_text(now.eta(), clock) : "", now.id());
  }
  return line;
}

std::string job_end_line(const wire::JobStatus& job, const WallClock& clock) {
  std::string line = fmt::format("job {} {}", job.id(), job.state());
  if (job.has_finished() && job.has_submitted()) {
    line += fmt::format(" after {}", human_seconds(to_seconds(instant_from(job.finished()) -
                                                              instant_from(job.submitted()))));
  }
  line += fmt::format(", {:.3g} GPU-hours", job.gpu_seconds() / 3'600);
  if (job.state() == "SUCCEEDED" && job.has_promised()) {
    line += fmt::format("; promised by {}, {} at {}", moment_text(job.promised(), clock),
                        job.missed() ? "missed: finished" : "kept: finished",
                        moment_text(job.finished(), clock));
  }
  if (const std::string exit = exit_text(job); !exit.empty()) {
    line += "; " + exit;
  }
  return line;
}

int job_exit_code(const wire::JobStatus& job, bool is_strict) {
  if (job.state() == "REJECTED") {
    return kExitRefused;
  }
  if (job.state() == "CANCELLED") {
    return kExitCancelled;
  }
  if (job.state() == "FAILED") {
    return job.exit_code() == 0 ? kFailed : job.exit_code();
  }
  if (job.state() == "SUCCEEDED") {
    return is_strict && job.missed() ? kExitMissed : job.exit_code();
  }
  return kExitNotFinished;
}

}  // namespace rubato
