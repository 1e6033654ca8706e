// `rubato train` as users see it: whatever happens to its workers, the result is that of one
// undisturbed worker, and no step is lost as long as one of them lives.
#include "train_scene_test.h"

namespace rubato {
namespace {

using Json = nlohmann::json;
using TrainTest = TrainScene;

std::string cause_of(const Json& report, std::size_t generation) {
  return report["generations"][generation]["cause"];
}

TEST_F(TrainTest, TrainsWithOneWorkerWhichIsTheReference) {
  const Json report = trained({});

  EXPECT_EQ(report["generations"].size(), 1U);
  EXPECT_EQ(report["workers"].size(), 1U);
}

TEST_F(TrainTest, GivesTheSameBitsWhateverTheSizes) {
  const Json report = trained(
      {"--workers", "2", "--resize", "at step 30: 5; at step 120: 8; at step 200: 3"}, "4000");

  EXPECT_EQ(lost_steps(report), 0);
  EXPECT_GE(most_workers(report), 5U);
}

TEST_F(TrainTest, SurvivesTheLossOfRankZero) {
  const Json report = trained({"--workers", "3", "--kill", "worker 0 at step 100"});

  EXPECT_EQ(lost_steps(report), 0);
  EXPECT_EQ(report["generations"][1]["forced"], true);
  EXPECT_EQ(report["generations"][1]["members"], Json::array({2, 3}));
}

TEST_F(TrainTest, SurvivesTheLossOfAMiddleRank) {
  const Json report = trained({"--workers", "3", "--kill", "worker 1 at step 100"});

  EXPECT_EQ(lost_steps(report), 0);
  EXPECT_EQ(report["generations"][1]["members"], Json::array({1, 3}));
  EXPECT_EQ(cause_of(report, 1), "worker 2: ended on our request: SIGKILL");
}

TEST_F(TrainTest, SurvivesTheLossOfTwoAtOnce) {
  const Json report =
      trained({"--workers", "3", "--kill", "worker 0 at step 100; worker 2 at step 100"});

  EXPECT_EQ(lost_steps(report), 0);
}

TEST_F(TrainTest, ResumesFromASnapshotAfterTheLossOfAll) {
  const Json report = trained({"--workers", "2", "--snapshot-steps", "20", "--kill",
                               "worker 0 at step 110; worker 1 at step 110"});

  EXPECT_LE(lost_steps(report), 20);
  EXPECT_GE(report["generations"].back()["step"], 100);
}

TEST_F(TrainTest, StartsOverAfterTheLossOfAllWithoutSnapshots) {
  const Json report =
      trained({"--workers", "2", "--kill", "worker 0 at step 110; worker 1 at step 110"});

  EXPECT_GE(lost_steps(report), 110);
}

TEST_F(TrainTest, GoesOnWithoutAFrozenWorker) {
  const Json report = trained({"--workers", "3", "--stop", "worker 1 at step 100"});

  EXPECT_EQ(lost_steps(report), 0);
  EXPECT_EQ(report["workers"][1]["cause"], "ended on our request: SIGKILL, no heartbeat for 1.5 s");
  EXPECT_EQ(report["generations"][1]["members"], Json::array({1, 3}));
}

TEST_F(TrainTest, ReplacesAWorkerThatFreezesBeforeItsFirstWord) {
  const std::string trainer = counting()[0] + " 5000 64 4 8 0";

  const TrainOutcome outcome =
      train({"--workers", "2", "--start-patience", "3"},
            shell("[ $RUBATO_WORKER = 2 ] && kill -STOP $$; exec " + trainer));

  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(outcome.report["parameter_hash"], kUndisturbed);
  const std::string cause = outcome.report["workers"][1]["cause"];
  EXPECT_NE(cause.find("no hello since its start for 3 s"), std::string::npos) << cause;
}

TEST_F(TrainTest, ANewerResizeReplacesTheOneUnderWay) {
  const Json report =
      trained({"--workers", "1", "--resize", "at step 50: 6; at step 51: 2"}, "4000");

  EXPECT_EQ(report["generations"].back()["members"].size(), 2U);
  EXPECT_EQ(lost_steps(report), 0);
}

TEST_F(TrainTest, UsesAParkedWorkerAgain) {
  const Json report =
      trained({"--workers", "2", "--resize", "at step 50: 1; at step 100: 2"}, "2000");

  EXPECT_EQ(report["workers"].size(), 2U) << "no new process";
  EXPECT_EQ(report["generations"].back()["members"], Json::array({1, 2}));
  EXPECT_EQ(lost_steps(report), 0);
}

TEST_F(TrainTest, StartsAnewWhomItDoesNotKeepParked) {
  const Json report = trained(
      {"--workers", "2", "--parked", "0", "--resize", "at step 50: 1; at step 100: 2"}, "2000");

  EXPECT_EQ(report["workers"].size(), 3U);
}

TEST_F(TrainTest, HasRanksWithoutSamplesWhereTheBatchIsSmall) {
  const TrainOutcome outcome =
      train({"--workers", "5"}, {counting()[0], "40", "3", "2", "0", "1000"});

  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(outcome.report["generations"][0]["members"].size(), 5U);
  EXPECT_EQ(outcome.report["steps"], 28);
}

TEST_F(TrainTest, ShowsTheOutputOfRankZeroAfterWorkerOneIsGone) {
  const pid_t job = start({"--workers", "2", "--kill", "worker 0 at step 100"}, counting());

  const TrainOutcome outcome = finish(job);

  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("0 of 5000 samples were not used once in each epoch\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.errors, "") << "nothing to remark";
}

/// Jobs that are resumed in the directory of one that was killed with its conductor.
class TrainResume : public TrainScene {
 protected:
  // Kills everything once the snapshots of steps 20 and 40 lie there.
  void kill_a_job() {
    const pid_t job = start({"--directory", path("job"), "--snapshot-steps", "20", "--workers", "2",
                             "--stop", "worker 0 at step 41", "--patience", "1000"},
                            counting("20000"));
    wait_until([&] { return snapshots().size() == 2 && !snapshot_of("-step-40").empty(); });
    ASSERT_EQ(::kill(job, SIGKILL), 0);
    ASSERT_EQ(finish(job).code, 128 + SIGKILL);
  }

  [[nodiscard]] std::vector<std::string> snapshots() const {
    std::vector<std::string> found;
    std::error_code none_yet;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder_ / "job" / "snapshots", none_yet)) {
      if (!entry.path().string().ends_with(".part")) {
        found.push_back(entry.path().string());
      }
    }
    return found;
  }
  [[nodiscard]] std::string snapshot_of(const std::string& ending) const {
    for (const std::string& file : snapshots()) {
      if (file.ends_with(ending)) {
        return file;
      }
    }
    return "";
  }
  std::vector<std::string> again() {
    return {"--directory", path("job"), "--snapshot-steps", "20", "--workers", "3"};
  }
};

TEST_F(TrainResume, GoesOnWhereTheKilledJobHadItsNewestSnapshot) {
  kill_a_job();

  const Json report = trained(again());

  EXPECT_EQ(report["generations"][0]["step"], 40);
  EXPECT_EQ(lost_steps(report), 0);
}

TEST_F(TrainResume, TakesThePreviousSnapshotIfTheNewestIsCutShort) {
  kill_a_job();
  const std::string newest = snapshot_of("-step-40");
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) / 2);

  const Json report = trained(again());

  EXPECT_EQ(report["generations"][0]["step"], 20);
  EXPECT_NE(text_of_file(path("errors")).find("is passed over"), std::string::npos);
}

TEST_F(TrainResume, TakesThePreviousSnapshotIfTheNewestIsDamaged) {
  kill_a_job();
  std::fstream file(snapshot_of("-step-40"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(5000);
  file.write("\x7f\x7f\x7f\x7f", 4);
  file.close();

  const Json report = trained(again());

  EXPECT_EQ(report["generations"][0]["step"], 20);
}

}  // namespace
}  // namespace rubato
