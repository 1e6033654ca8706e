#include "rubato/engine/questions/forecast.h"

#include <gtest/gtest.h>

#include "rubato/engine/testing/random_run_test.h"

namespace rubato {
namespace {

TEST(Forecast, OfALoneJobCountsTheIdleGpusThatItsPlanLeaves) {
  Engine engine = World{}.engine("elasticflow");
  const Job alone = due(7200, job(1, 7200));

  const Forecast outlook = forecast_arrival(engine, at(0), alone);

  EXPECT_NEAR(to_seconds(outlook.finish), 1800, 2);  // On all four.
  EXPECT_NEAR(outlook.gpu_hours, 2, 0.01);
  EXPECT_GT(engine.quote(at(0), alone).finish, at(3600));
}

TEST(Forecast, LetsJobsInFrontEndFirst) {
  Engine engine = World{}.engine("fifo");
  Job first = job(1, 400);
  Job second = job(2, 400);
  first.requested = second.requested = 4;
  (void)engine.on(at(0), Arrival{.job = first});
  (void)engine.on(at(0), Tick{});

  EXPECT_NEAR(to_seconds(forecast(engine, JobId{1}).finish), 100, 1);
  EXPECT_NEAR(to_seconds(forecast_arrival(engine, at(10), second).finish), 200, 2);
}

TEST(Forecast, IsNotKnownBeyondItsBoundOrOfARefusedJob) {
  Engine engine = World{}.engine("elasticflow");
  for (std::uint64_t id = 1; id <= 5; ++id) {
    (void)engine.on(at(0), Arrival{.job = job(id, 100)});
  }

  EXPECT_TRUE(forecast(engine, JobId{5}).is_known());
  EXPECT_FALSE(forecast(engine, JobId{5}, 499).is_known());  // Five jobs, a hundred decisions.
  EXPECT_FALSE(forecast(engine, JobId{9}).is_known());
  EXPECT_FALSE(forecast_arrival(engine, at(0), due(1, job(9, 1000))).is_known());
}

TEST(Forecast, EndsWithinItsBoundHoweverLongTheJob) {
  Engine engine = World{}.engine("tiresias");  // Its rounds never end while jobs take turns.
  for (std::uint64_t id = 1; id <= 9; ++id) {
    (void)engine.on(at(0), Arrival{.job = job(id, 1e12)});
  }

  const Forecast outlook = forecast(engine, JobId{9}, 2'000);

  EXPECT_FALSE(outlook.is_known());
  EXPECT_LT(outlook.visits, 2'000 + 100);
}

class ForkIn : public testing::TestWithParam<ResizeCostModel> {};

INSTANTIATE_TEST_SUITE_P(Engine, ForkIn, testing::ValuesIn(kAccountings),
                         [](const auto& given) { return std::string(to_string(given.param)); });

// The original goes through a random life; at some point a copy is made, and both then see the
// same events.
TEST_P(ForkIn, RandomStatesGoesOnAsTheOriginalWould) {
  for (const std::string_view policy : {"elasticflow", "tiresias", "srtf"}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const World world{.cluster = "4x4", .accounting = GetParam(), .seed = seed};
      Engine original = world.engine(policy);
      RandomRun before(original, seed);
      for (int i = 0; i < 60; ++i) {
        before.step();
      }
      const std::string text = original.save();

      Engine copy = original.fork();
      (void)forecast_arrival(original, before.now(), before.draw_job());

      ASSERT_EQ(original.save(), text) << policy << " seed " << seed;
      ASSERT_EQ(copy.audit(), std::vector<std::string>{});
      Instant now = before.now();
      for (std::uint64_t i = 0; i < 40; ++i) {
        now = later(now, seconds(7));
        Job next = job(1000 + i, 100.0 + 10.0 * static_cast<double>(i), to_seconds(now));
        next.job_class = i % 2 == 0 ? JobClass::Slo : JobClass::BestEffort;
        next.deadline = i % 2 == 0 ? later(now, seconds(400)) : kNever;
        for (const Event& event : {Event(Arrival{.job = next}), Event(Tick{})}) {
          std::string expected;
          std::string found;
          for (const Command& command : original.on(now, event)) {
            expected += command_line(command);
          }
          for (const Command& command : copy.on(now, event)) {
            found += command_line(command);
          }
          ASSERT_EQ(found, expected) << policy << " seed " << seed << " event " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rubato
