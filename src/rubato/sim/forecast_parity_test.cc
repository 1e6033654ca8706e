// What the engine forecasts is what the simulator does, to the microsecond.
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/engine/questions/forecast.h"
#include "rubato/predict/speed_table.h"
#include "rubato/sim/simulator.h"
#include "rubato/sim/workload.h"
#include "rubato/trace/generate/generator.h"

namespace rubato {
namespace {

std::vector<Job> forecast_jobs(std::uint64_t seed) {
  auto generator = Generator::make(
      GeneratorOptions{.jobs = 30,
                       .seed = seed,
                       .cluster_gpus = 32,
                       .load = 2.5,
                       .best_effort = 0.3,
                       .soft = 0.1,
                       .models = {{"convnet", 128}, {"language", 256}},
                       .speed = [](const ModelChoice&, int gpus) { return 4.0 * gpus; }});
  std::vector<Job> jobs;
  while (auto job = generator->next()) {
    jobs.push_back(*std::move(job));
  }
  return jobs;
}

TEST(ForecastParity, TheEngineForeseesWhatTheSimulatorDoes) {
  const Topology topology = *Topology::parse("4x8");
  int compared = 0;
  for (const char* policy : {"elasticflow", "srtf", "tiresias"}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SpeedBook speeds(sample_speeds(), topology);
      const Workload workload = prepare(forecast_jobs(seed), speeds);
      const SimOptions options{.policy = policy, .seed = seed};
      // A second engine sees what the simulator's sees, until the last job has arrived.
      Engine engine = Engine::make(topology, speeds, policy,
                                   {.accounting = options.accounting,
                                    .slot = options.slot,
                                    .restart = options.restart,
                                    .seed = seed})
                          .value();
      std::size_t arrived = 0;
      const SimWatcher watcher{.on_event = [&](Instant now, const Event& event) {
        if (arrived < workload.jobs.size()) {
          (void)engine.on(now, event);
          arrived += std::holds_alternative<Arrival>(event) ? 1U : 0U;
        }
      }};
      const auto played = simulate(workload.jobs, topology, speeds, options, watcher);
      ASSERT_TRUE(played.ok()) << played.error().message;

      for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        const JobId id{i};
        if (engine.state().jobs.find(id) != nullptr) {
          EXPECT_EQ(forecast(engine, id, 1'000'000).finish, played->history.jobs[i].finish)
              << policy << " seed " << seed << " job " << i;
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 50);
}

}  // namespace
}  // namespace rubato
