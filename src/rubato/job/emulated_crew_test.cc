#include "rubato/job/emulated_crew.h"

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "rubato/launch/conductor.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

/// A conductor and a crew in a folder of their own.
class EmulatedCrewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / "rubato-crew-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override {
    conductor_.reset();
    crew_.reset();
    fs::remove_all(folder_);
  }

  void conduct(std::uint64_t steps, double speed, int workers) {
    auto crew = EmulatedCrew::open({.steps = steps, .speeds = {{1, speed}}});
    ASSERT_TRUE(crew.ok());
    crew_ = std::move(*crew);
    auto conductor = Conductor::open({.command = {"-"},
                                      .directory = folder_,
                                      .workers = workers,
                                      .membership = {.parked_max = 0},
                                      .patience = std::chrono::seconds(60),
                                      .keeps_snapshots = true},
                                     *crew_, {});
    ASSERT_TRUE(conductor.ok()) << conductor.error().message;
    conductor_ = std::move(*conductor);
  }

  // Turns until it is so, or the job is over; whether it came to be so.
  template <typename Condition>
  bool comes_to(Condition condition) {
    while (!condition()) {
      if (!conductor_->turn(std::chrono::milliseconds(100))) {
        return condition();
      }
    }
    return true;
  }
  void finish() {
    while (conductor_->turn(std::chrono::milliseconds(100))) {
    }
  }
  [[nodiscard]] bool trains_with(int workers) const {
    return conductor_->workers_training() == workers;
  }

  std::string folder_{};
  std::unique_ptr<EmulatedCrew> crew_{};
  std::unique_ptr<Conductor> conductor_{};
};

TEST_F(EmulatedCrewTest, TrainsToTheEndWithManyWorkers) {
  conduct(20, 200, 40);

  finish();

  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Finished) << conductor_->timeline().reason;
  EXPECT_EQ(conductor_->timeline().steps, 20U);
  EXPECT_TRUE(conductor_->timeline().hashes_agree);
}

TEST_F(EmulatedCrewTest, GrowsAndShrinksWithoutLosingAStep) {
  conduct(1'000'000, 500, 2);
  ASSERT_TRUE(comes_to([&] { return trains_with(2) && conductor_->step() > 0; }));

  conductor_->resize(12);
  ASSERT_TRUE(comes_to([&] { return trains_with(12); }));
  conductor_->resize(1);
  ASSERT_TRUE(comes_to([&] { return trains_with(1) && conductor_->occupants().size() == 1; }));
  const auto before = conductor_->step();
  conductor_->suspend("for the test");
  finish();

  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Suspended);
  EXPECT_GE(conductor_->step(), before);
  for (const GenerationRecord& record : conductor_->timeline().generations) {
    EXPECT_EQ(record.lost_steps, 0U) << record.cause;
  }
}

TEST_F(EmulatedCrewTest, AKilledWorkerIsReplaced) {
  conduct(1'000'000, 500, 3);
  ASSERT_TRUE(comes_to([&] { return trains_with(3) && conductor_->step() > 0; }));
  const WorkerId victim = conductor_->worker_at(1).value();

  ASSERT_TRUE(conductor_->signal(victim, SIGKILL).ok());

  ASSERT_TRUE(comes_to([&] {
    const auto occupants = conductor_->occupants();
    return trains_with(3) && std::ranges::count(occupants, victim) == 0;
  }));
  conductor_->stop("for the test");
  finish();
  EXPECT_EQ(conductor_->timeline().reason, "for the test");
}

TEST_F(EmulatedCrewTest, EndsWorkersInTheMiddleOfAStepThatNeverEnds) {
  conduct(10, 1e-6, 8);
  ASSERT_TRUE(comes_to([&] { return trains_with(8); }));

  conductor_->stop("enough");
  finish();

  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Failed);
}

TEST_F(EmulatedCrewTest, KnowsOnlyItsOwn) {
  conduct(10, 100, 1);

  EXPECT_EQ(crew_->signal(WorkerId{77}, SIGKILL).error().code, ErrorCode::NotFound);
  finish();
}

}  // namespace
}  // namespace rubato
