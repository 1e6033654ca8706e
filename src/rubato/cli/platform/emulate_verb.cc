#include "rubato/cli/platform/emulate_verb.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/process/exit_code.h"
#include "rubato/job/emulated_speed.h"
#include "rubato/job/emulated_training.h"
#include "rubato/runtime/worker/worker_address.h"

namespace rubato {
namespace {

struct EmulateFlags {
  std::uint64_t steps = 0;
  std::vector<std::string> speeds{};
};

int emulation_failure(const Error& error) {
  fmt::print(stderr, "rubato emulate: {}\n", error.message);
  return exit_code(error.code);
}

int emulate(const EmulateFlags& flags) {
  const auto began = EmulatedPace::Clock::now();
  auto speeds = parse_speeds(flags.speeds);
  if (!speeds) {
    return emulation_failure(speeds.error());
  }
  const auto address = worker_address();
  if (!address) {
    return emulation_failure(address.error());
  }
  EmulatedState state;
  auto worker = join_emulated(*address, state);
  if (!worker) {
    return emulation_failure(worker.error());
  }
  fmt::print("{}\n", kEmulatedNotice);
  std::fflush(stdout);
  (*worker)->warm();
  EmulatedPace pace(std::move(*speeds), {}, began);
  const Status trained =
      train_emulated(**worker, flags.steps, pace, [](EmulatedPace::Clock::time_point moment) {
        std::this_thread::sleep_until(moment);
        return true;
      });
  return trained ? kExitOk : emulation_failure(trained.error());
}

}  // namespace

void add_emulate_verb(CLI::App& app, int& code) {
  CLI::App* verb = app.add_subcommand("emulate", "A worker of an emulated job")->group("");
  const auto flags = std::make_shared<EmulateFlags>();
  verb->add_option("--steps", flags->steps, "Of the job")->required();
  verb->add_option("--speed", flags->speeds, "Workers and steps per second, such as 4:12.5");
  verb->callback([flags, &code] { code = emulate(*flags); });
}

}  // namespace rubato
