// Watches events and commands go by and writes down the history of the run.
#pragma once

#include <vector>

#include "rubato/core/job.h"
#include "rubato/engine/engine.h"
#include "rubato/metrics/history.h"

namespace rubato {

/// Ids are dense from zero. Bars are kept only if pictures are wanted.
class Recorder {
 public:
  Recorder(const std::vector<Job>& jobs, const Topology& topology, bool keep_bars);

  void arrive(const Job& job, SpeedId speed, const SpeedBook& speeds, const Topology& topology);
  void answer(const Verdict& verdict);
  void run(Instant now, const Run& command, const SpeedBook& speeds);
  void suspend(Instant now, JobId job);
  void complete(Instant now, const Job& job);
  void nodes(Instant now, int gpus_up);
  /// Once per event, after its commands.
  void end_of_event(Instant now);

  [[nodiscard]] History finish(Instant end);

 private:
  struct Live {
    Placement placement{};
    int share = 0;
    Instant since{};
    double speedup = 0;
    SpeedId speed{};
  };

  void leave(Instant now, JobId job);

  bool keep_bars_;
  History history_;
  std::vector<Live> live_;
  UseSample use_{};
  bool changed_ = true;
};

}  // namespace rubato
