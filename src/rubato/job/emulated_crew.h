// Workers of an emulated job as threads of the process that conducts it. They speak with the
// conductor and exchange gradients as processes do; a hundred of them fit on two processors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/job/emulated_pace.h"
#include "rubato/launch/launcher.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// What the crew pretends to train.
struct EmulatedCrewOptions {
  std::uint64_t steps = 0;
  EmulatedSpeeds speeds{};
  EmulatedPace::Clock::duration pause{};  // Of a start and of each change of workers.
  EmulatedPace::Clock::time_point began = EmulatedPace::Clock::now();  // Starts count from here.
};

/// Ends what still runs when it goes. Commands and directories of workers mean nothing to it;
/// SIGTERM and SIGKILL end a worker wherever it stands, other signals do nothing.
class EmulatedCrew final : public Launcher {
 public:
  [[nodiscard]] static Result<std::unique_ptr<EmulatedCrew>> open(EmulatedCrewOptions options);
  ~EmulatedCrew() override;

  [[nodiscard]] int descriptor() const override { return bell_.get(); }
  [[nodiscard]] Status start(const WorkerStart& start) override;
  [[nodiscard]] Status signal(WorkerId worker, int signal) override;
  [[nodiscard]] std::vector<WorkerEnd> ended() override;
  /// Other workers were decided at this moment.
  void ordered(EmulatedPace::Clock::time_point decided, int workers) {
    pace_.ordered(decided, workers);
  }

 private:
  class Member;

  EmulatedCrew(EmulatedCrewOptions options, Descriptor bell);

  std::uint64_t steps_;
  EmulatedPace pace_;
  Descriptor bell_;  // Rung by whoever ends.
  std::map<WorkerId, std::unique_ptr<Member>> members_;
};

}  // namespace rubato
