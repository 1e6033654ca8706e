// Small runs for the tests of this folder.
#pragma once

#include <cstdint>
#include <string>

#include "rubato/metrics/history_builder_test.h"
#include "rubato/report/report.h"

namespace rubato {

/// A name that would end a script or a text of a page if it were not escaped.
inline constexpr const char* kHostile = "</script><script>alert(1)</script>\"'&<!--";

inline ReportHeader plain_header() {
  return {.version = "0.1.0",
          .trace = "t.csv",
          .cluster = "2x4",
          .seed = 7,
          .overhead = "none",
          .slot_seconds = 60,
          .command = "rubato sim --trace t.csv",
          .provenance = {"speeds: measured"}};
}

/// Two jobs on 2 x 4 GPUs: the first on both nodes and then on one GPU, the second named badly.
inline History two_jobs(std::string second_name) {
  History history{.end = at_seconds(100)};
  JobRecord first = finished_job(1, 0, 60);
  first.deadline = first.promised = at_seconds(80);
  JobRecord second = finished_job(2, 10, 100);
  second.deadline = at_seconds(90);
  history.jobs = {first, second};
  history.names = {"first", std::move(second_name)};
  history.use = {{.at = at_seconds(0), .gpus_used = 4, .gpus_up = 8, .speedup = 3, .running = 1},
                 {.at = at_seconds(40), .gpus_used = 2, .gpus_up = 8, .speedup = 2, .running = 2}};
  history.bars = {{.job = JobId{1},
                   .from = at_seconds(0),
                   .to = at_seconds(40),
                   .placement = {.ranges = {{.first = 2, .count = 4}}}},
                  {.job = JobId{1},
                   .from = at_seconds(40),
                   .to = at_seconds(60),
                   .placement = {.ranges = {{.first = 0, .count = 1}}}},
                  {.job = JobId{2},
                   .from = at_seconds(40),
                   .to = at_seconds(100),
                   .placement = {.ranges = {{.first = 7, .count = 1}}}}};
  return history;
}

}  // namespace rubato
