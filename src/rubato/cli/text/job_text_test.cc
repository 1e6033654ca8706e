// What people read, from messages alone.
#include <limits>

#include <gtest/gtest.h>

#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/text/cluster_text.h"
#include "rubato/cli/text/job_table.h"
#include "rubato/cli/text/moment_text.h"
#include "rubato/cli/text/quote_text.h"
#include "rubato/cli/text/text_table.h"
#include "rubato/cli/text/why_text.h"

namespace rubato {
namespace {

using google::protobuf::Timestamp;

Instant utc_moment(std::string_view text) { return parse_rfc3339(text).value(); }

Timestamp stamp(std::string_view text) { return timestamp_from(utc_moment(text)); }

// Noon on a Wednesday, two hours ahead of UTC.
WallClock noon() {
  return {.now = utc_moment("2026-07-01T10:00:00Z"),
          .zone = [](Instant) { return Duration(std::chrono::hours(2)); }};
}

wire::JobStatus running_job() {
  wire::JobStatus job;
  job.set_id("42");
  job.set_state("RUNNING");
  job.set_class_("slo");
  job.mutable_spec()->set_name("resnet");
  job.mutable_spec()->set_tenant("vision");
  job.mutable_spec()->add_command("python3");
  job.mutable_spec()->add_command("my train.py");
  job.mutable_spec()->mutable_workers()->set_min(1);
  job.mutable_spec()->mutable_workers()->set_max(8);
  job.set_steps_done(300.5);
  job.set_steps_total(1200);
  job.set_steps_per_second(31.25);
  job.set_workers(4);
  job.add_slots("node0/0");
  job.set_gpu_seconds(7200);
  *job.mutable_submitted() = stamp("2026-07-01T08:00:00Z");
  *job.mutable_deadline() = stamp("2026-07-01T16:00:00Z");
  *job.mutable_promised() = stamp("2026-07-01T15:25:00Z");
  *job.mutable_eta() = stamp("2026-07-01T14:50:00Z");
  for (const int workers : {2, 6, 4}) {
    job.add_plan()->set_workers(workers);
  }
  return job;
}

TEST(MomentText, ShowsTheWallClock) {
  EXPECT_EQ(moment_text(utc_moment("2026-07-01T16:00:00Z"), noon()), "18:00");
  EXPECT_EQ(moment_text(utc_moment("2026-07-01T10:05:07Z"), noon()), "12:05:07");
  EXPECT_EQ(moment_text(utc_moment("2026-07-01T22:30:00Z"), noon()), "Thu 00:30");
  EXPECT_EQ(moment_text(utc_moment("2026-08-01T22:30:00Z"), noon()), "2026-08-02 00:30");
  EXPECT_EQ(instant_from(stamp("2026-07-01T16:00:00.25Z")), utc_moment("2026-07-01T16:00:00.25Z"));
}

TEST(MomentText, AFlagNeverMeansAnEarlierMoment) {
  EXPECT_EQ(deadline_flag_text(utc_moment("2026-07-01T13:40:00Z"), noon()), "15:40");
  EXPECT_EQ(deadline_flag_text(utc_moment("2026-07-01T13:40:01Z"), noon()), "15:41");
  // Near: by the time it is pasted, a clock time would have come nearer or gone by.
  EXPECT_EQ(deadline_flag_text(utc_moment("2026-07-01T10:03:24.5Z"), noon()), "3m25s");
  // Far: the clock will show that time before.
  EXPECT_EQ(deadline_flag_text(utc_moment("2026-07-03T10:05:00Z"), noon()), "2026-07-03T10:05:00Z");
}

TEST(TextTable, AlignsByWhatIsSeen) {
  TextTable table({"A", ">N"});
  table.add({"é", "1"});
  table.add({"\x1b[32mlong\x1b[0m", ""});

  EXPECT_EQ(table.text(), "A     N\né     1\n\x1b[32mlong\x1b[0m  -\n");
}

TEST(JobTable, HasOneLineForEachJob) {
  wire::JobList list;
  *list.add_jobs() = running_job();
  wire::JobStatus pending;
  pending.set_id("43");
  pending.set_state("PENDING");
  pending.set_reason("WaitingPlan");
  *list.add_jobs() = pending;

  EXPECT_EQ(job_table(list, noon(), /*use_colour=*/false),
            "ID  NAME    TENANT  STATE    CLASS  WORKERS  DONE  ETA    DEADLINE  NOTE\n"
            "42  resnet  vision  RUNNING  slo          4  25 %  16:50  18:00     -\n"
            "43  -       -       PENDING  -            0   0 %  -      -         WaitingPlan\n");
  EXPECT_NE(job_table(list, noon(), /*use_colour=*/true).find("\x1b[32mRUNNING\x1b[0m"),
            std::string::npos);
}

TEST(JobTable, APageSaysAllThereIs) {
  EXPECT_EQ(job_page(running_job(), noon(), /*use_colour=*/false),
            "job 42  resnet  RUNNING\n"
            "  command   python3 'my train.py'\n"
            "  progress  ██████░░░░░░░░░░░░░░░░░░  300 of 1200 steps (25 %), 31.2 steps/s\n"
            "  workers   4 (accepts 1-8) on node0/0\n"
            "  plan      ▃█▅  2 -> 6 -> 4\n"
            "  deadline  18:00, promised by 17:25\n"
            "  eta       16:50\n"
            "  times     submitted 10:00\n"
            "  used      2 GPU-hours, 0 resizes, 0 restarts\n");
}

TEST(JobTable, OddNumbersDoNoHarm) {
  wire::JobStatus job;
  job.set_steps_done(5);
  EXPECT_NE(job_page(job, noon(), false).find("0 %"), std::string::npos);
  job.set_steps_total(4);
  EXPECT_NE(job_page(job, noon(), false).find("100 %"), std::string::npos);
  job.set_steps_done(std::numeric_limits<double>::quiet_NaN());
  job.add_plan()->set_workers(-3);
  EXPECT_FALSE(job_page(job, noon(), false).empty());
}

TEST(JobTable, AProgressLineFitsOnOne) {
  EXPECT_EQ(job_progress_line(running_job(), noon()),
            "  ██████░░░░░░░░░░░░░░░░░░  25 %  step 300 of 1200  4 workers  31.2 steps/s  ETA "
            "16:50");
}

TEST(JobTable, SaysWhatChanged) {
  const wire::JobStatus before = running_job();
  wire::JobStatus now = before;
  EXPECT_EQ(job_change_line(before, now, noon()), "");
  now.set_workers(2);
  EXPECT_EQ(job_change_line(before, now, noon()), "job 42 4 -> 2 workers");
  now.set_state("SUSPENDED");
  now.set_workers(0);
  now.set_message("job 7 needs its promise kept");
  EXPECT_EQ(job_change_line(before, now, noon()), "job 42 SUSPENDED: job 7 needs its promise kept");
  now = before;
  now.set_at_risk(true);
  EXPECT_EQ(job_change_line(before, now, noon()),
            "job 42 may miss its promise: ETA 16:50; rubato why 42 says what would help");
}

TEST(JobTable, TheEndSaysWhetherThePromiseWasKept) {
  wire::JobStatus job = running_job();
  job.set_state("SUCCEEDED");
  *job.mutable_finished() = stamp("2026-07-01T10:00:00Z");
  EXPECT_EQ(job_end_line(job, noon()),
            "job 42 SUCCEEDED after 2 h, 2 GPU-hours; promised by 17:25, kept: finished at "
            "12:00:00");
  job.set_state("FAILED");
  job.set_exit_code(137);
  job.set_exit_cause("out of memory");
  EXPECT_EQ(job_end_line(job, noon()),
            "job 42 FAILED after 2 h, 2 GPU-hours; code 137, out of memory");
}

TEST(JobTable, TheExitCodeIsTheJobsOwn) {
  wire::JobStatus job;
  const auto code = [&](const char* state, bool is_strict = false) {
    job.set_state(state);
    return job_exit_code(job, is_strict);
  };
  EXPECT_EQ(code("SUCCEEDED"), 0);
  EXPECT_EQ(code("RUNNING"), kExitNotFinished);
  EXPECT_EQ(code("CANCELLED"), kExitCancelled);
  EXPECT_EQ(code("REJECTED"), kExitRefused);
  EXPECT_EQ(code("FAILED"), 1);
  job.set_missed(true);
  EXPECT_EQ(code("SUCCEEDED"), 0);
  EXPECT_EQ(code("SUCCEEDED", /*is_strict=*/true), kExitMissed);
  job.set_exit_code(3);
  EXPECT_EQ(code("FAILED"), 3);
}

TEST(QuoteText, ShowsBandCostAndOurRecord) {
  wire::QuoteReply quote;
  quote.set_admitted(true);
  *quote.mutable_promised() = stamp("2026-07-01T16:00:00Z");
  *quote.mutable_finish_early() = stamp("2026-07-01T14:50:00Z");
  *quote.mutable_finish_late() = stamp("2026-07-01T15:25:00Z");
  *quote.mutable_earliest() = stamp("2026-07-01T13:40:00Z");
  quote.set_gpu_hours(31);
  quote.set_provenance("assumed");
  quote.set_promises_made(50);
  quote.set_promises_kept_ratio(0.94);
  quote.set_median_error_ratio(0.021);
  for (const int workers : {2, 2, 6, 4}) {
    quote.add_plan()->set_workers(workers);
  }

  EXPECT_EQ(quote_text(quote, noon()),
            " quote      finish 16:50 to 17:25 (9 of 10)   31 GPU-hours   workers 2 -> 6 -> 4\n"
            " promise    by 18:00\n"
            " earliest   15:40 is the earliest deadline we could promise\n"
            " our record 94 % of 50 promises kept, median error of quotes 2.1 %\n"
            " speeds     assumed, not measured yet\n");
}

TEST(QuoteText, ARefusalHasFlagsToPaste) {
  wire::QuoteReply quote;
  quote.set_message("cannot promise 14:00");
  wire::CounterOffer& later = *quote.add_offers();
  later.set_kind("later_deadline");
  *later.mutable_deadline() = stamp("2026-07-01T13:40:10Z");
  wire::CounterOffer& more = *quote.add_offers();
  more.set_kind("more_gpus");
  more.set_gpus(4);
  quote.add_offers()->set_kind("best_effort");

  EXPECT_EQ(quote_text(quote, noon()),
            " refused    cannot promise 14:00\n"
            " instead, we could promise:\n"
            "   --deadline 15:41\n"
            "   the same deadline, if the cluster had 4 more GPUs\n"
            "   --class best_effort   (no promise)\n");
}

TEST(WhyText, HasTheBindingReasonAndTheRemedy) {
  wire::WhyReply why;
  why.set_job("43");
  why.set_standing("waits");
  why.set_reason("WaitingPlan");
  why.set_binding("4 GPUs are promised to job 42 until 17:10");
  why.set_remedy("--workers 2");

  EXPECT_EQ(why_text(why),
            " 43 waits: WaitingPlan\n"
            "    held back by: 4 GPUs are promised to job 42 until 17:10\n"
            "    would change if: --workers 2\n");

  why.Clear();
  why.set_job("42");
  why.set_standing("running");
  why.set_reason("none");
  why.set_binding("done in 97 s at this pace");
  EXPECT_EQ(why_text(why), " 42 running\n    done in 97 s at this pace\n");
}

TEST(WhyText, BlameNamesWhoAndWhy) {
  wire::BlameReply blame;
  EXPECT_EQ(blame_text(blame, noon()), "nobody has changed its workers\n");
  wire::BlameEntry& entry = *blame.add_entries();
  *entry.mutable_at() = stamp("2026-07-01T09:00:00Z");
  entry.set_workers_before(4);
  entry.set_workers_after(2);
  entry.set_cause("arrival of job 7");
  entry.set_caused_by("7");

  EXPECT_EQ(blame_text(blame, noon()),
            "WHEN   WORKERS  CAUSE             BY\n"
            "11:00   4 -> 2  arrival of job 7  7\n");
}

TEST(ClusterText, NodesAndTenantsAreTables) {
  wire::NodeList nodes;
  wire::NodeStatus& node = *nodes.add_nodes();
  node.set_name("gpu01");
  node.set_up(true);
  node.set_slots(2);
  node.set_slots_used(1);
  node.add_slot()->set_job("42");
  node.add_slot();
  wire::MaintenanceWindow& window = *node.add_maintenance();
  *window.mutable_from() = stamp("2026-07-04T00:00:00Z");
  *window.mutable_to() = stamp("2026-07-04T04:00:00Z");
  EXPECT_EQ(node_table(nodes, noon()),
            "NAME   STATE  TYPE  USED  SLOTS  JOBS  HEARD  MAINTENANCE\n"
            "gpu01  up     -        1      2  42    -      Sat 02:00 to Sat 06:00\n");

  wire::TenantList tenants;
  wire::TenantStatus& tenant = *tenants.add_tenants();
  tenant.set_name("vision");
  tenant.set_guarantee(16);
  tenant.set_budget_gpu_hours(5000);
  tenants.add_tenants()->set_borrow(0);
  tenants.mutable_tenants(1)->set_name("guest");
  EXPECT_EQ(tenant_table(tenants),
            "NAME    GUARANTEE  BORROW  BUDGET  USED  GPUS  JOBS\n"
            "vision         16     any  5000 h   0 h     0     0\n"
            "guest           0       0       -   0 h     0     0\n");
}

TEST(ClusterText, PolicyWhatIfAndReport) {
  wire::PolicyStatus policy;
  policy.set_live("elasticflow");
  EXPECT_EQ(policy_status_text(policy), "live    elasticflow\nshadow  none\n");
  policy.set_shadow("edf");
  policy.set_answers(10);
  policy.set_answers_differ(3);
  policy.set_live_deadlines_met_ratio(1);
  EXPECT_EQ(policy_status_text(policy),
            "live    elasticflow\nshadow  edf: 3 of 10 answers differ; deadlines met 100.0 % "
            "live, 0.0 % in the shadow\n");
  policy.mutable_live_result()->set_jobs(12);
  policy.mutable_shadow_result()->set_jobs(12);
  policy.mutable_shadow_result()->set_finished(2);
  policy.mutable_shadow_result()->set_deadline_jobs(5);
  policy.mutable_shadow_result()->set_deadlines_met(4);
  policy.mutable_shadow_result()->set_mean_jct_seconds(61.4);
  policy.mutable_shadow_result()->set_gpu_utilization(0.5);
  EXPECT_NE(policy_status_text(policy).find("edf (shadow)    12        0         2         4 of 5"
                                            "           0 of 0      61 s     50.0 %\n"),
            std::string::npos)
      << policy_status_text(policy);

  wire::WhatIfReply reply;
  wire::WhatIfJob& job = *reply.add_jobs();
  job.set_job("42");
  job.set_met_then(true);
  *job.mutable_finish_now() = stamp("2026-07-01T16:00:00Z");
  *job.mutable_finish_then() = stamp("2026-07-01T14:00:00Z");
  const std::string text = what_if_text(reply, noon());
  EXPECT_NE(text.find(" 42  -     18:00  16:00  2 h earlier  missed -> kept\n"), std::string::npos)
      << text;

  wire::ReportReply report;
  report.set_promises_made(3);
  report.set_promises_kept(2);
  report.set_gpu_hours_useful(3);
  report.set_gpu_hours_idle(1);
  const std::string page = report_text(report, noon());
  EXPECT_NE(page.find("3 made; of 2 that came due 2 kept, 0 broken (100.0 %)"), std::string::npos)
      << page;
  EXPECT_NE(page.find("useful 3 (75 %), lost 0 (0 %), idle 1 (25 %)"), std::string::npos) << page;
}

}  // namespace
}  // namespace rubato
