// How `rubato train` ends when it cannot go well: with the cause, an exit code that scripts know,
// and no process left.
#include <gmock/gmock.h>

#include "train_scene_test.h"

namespace rubato {
namespace {

using TrainFailure = TrainScene;
using testing::HasSubstr;

TEST_F(TrainFailure, SaysThatAProgramHasNotTrained) {
  const TrainOutcome outcome = train({"--workers", "2"}, shell("exit 0"));

  EXPECT_EQ(outcome.code, 65);
  EXPECT_EQ(outcome.report["outcome"], "failed");
  EXPECT_THAT(outcome.errors, HasSubstr("ended without training a step"));
}

TEST_F(TrainFailure, GivesUpAProgramThatAlwaysCrashes) {
  const TrainOutcome outcome = train({}, shell("echo out of luck >&2; exit 7"));

  EXPECT_EQ(outcome.code, 7);
  EXPECT_EQ(outcome.report["outcome"], "failed");
  EXPECT_EQ(outcome.report["workers"].size(), 3U) << "it was tried three times";
  EXPECT_THAT(outcome.report["reason"].get<std::string>(), HasSubstr("out of luck"));
}

TEST_F(TrainFailure, TellsWhichSignalAProgramRaises) {
  const TrainOutcome outcome = train({}, shell("kill -SEGV $$"));

  EXPECT_EQ(outcome.code, 128 + SIGSEGV);
  EXPECT_THAT(outcome.report["reason"].get<std::string>(), HasSubstr("SIGSEGV"));
}

TEST_F(TrainFailure, PassesOnTheWishToBeQueuedAgain) {
  const TrainOutcome outcome = train({"--workers", "2"}, shell("exit 75"));

  EXPECT_EQ(outcome.code, 75);
  EXPECT_EQ(outcome.report["outcome"], "requeue");
}

TEST_F(TrainFailure, RefusesAnUnknownProgram) {
  const TrainOutcome outcome = train({}, {"./no-such-program"});

  EXPECT_EQ(outcome.code, 65);
  EXPECT_THAT(outcome.errors, HasSubstr("no-such-program"));
}

TEST_F(TrainFailure, NamesThePlaceAndTheNearestWordOfABadScript) {
  const TrainOutcome resize = train({"--resize", "at stp 100: 4"}, counting());
  const TrainOutcome kill = train({"--kill", "worker one at step 3"}, counting());

  EXPECT_EQ(resize.code, 65);
  EXPECT_THAT(resize.errors, testing::AllOf(HasSubstr("--resize"), HasSubstr("4"), HasSubstr("stp"),
                                            HasSubstr("step")));
  EXPECT_EQ(kill.code, 65);
  EXPECT_THAT(kill.errors, testing::AllOf(HasSubstr("--kill"), HasSubstr("one")));
}

TEST_F(TrainFailure, RefusesADirectoryThatAnotherJobUses) {
  const std::string words = make_pipe("words");
  const pid_t first = start({"--directory", path("job")},
                            shell("exec 3> " + words + "; echo up >&3; exec sleep 1000"));
  std::ifstream reader(words);
  std::string word;
  ASSERT_TRUE(std::getline(reader, word));

  const TrainOutcome second = train({"--directory", path("job")}, counting());

  EXPECT_EQ(second.code, 65);
  EXPECT_THAT(second.errors, HasSubstr("cannot listen"));
  ASSERT_EQ(::kill(first, SIGTERM), 0);
  finish(first);
}

TEST_F(TrainFailure, ReplacesAWorkerThatIsFrozenBeforeItHasSaidAWord) {
  std::string command = "mkdir " + path("frozen") + " 2> /dev/null && kill -STOP $$; exec";
  for (const std::string& word : counting()) {
    command += " " + word;
  }

  const TrainOutcome outcome = train({"--workers", "2", "--start-patience", "4"}, shell(command));

  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.errors;
  EXPECT_EQ(outcome.report["parameter_hash"], kUndisturbed);
  ASSERT_EQ(outcome.report["workers"].size(), 3U);
  EXPECT_THAT(outcome.errors, HasSubstr("no hello since its start for 4 s; it is replaced"));
}

/// Jobs whose workers wait for ever, so that somebody must end them.
class TrainEnd : public TrainScene, public testing::WithParamInterface<int> {
 protected:
  // Sends the signal once both workers and their own processes run; returns when all are gone.
  TrainOutcome end_by(int signal) {
    const std::string words = make_pipe("words");
    const pid_t job =
        start({"--json", "--workers", "2"},
              shell("exec 3> " + words + "; sleep 1000 & echo up >&3; sleep 1000; exit 0"));
    std::ifstream reader(words);
    std::string word;
    for (int worker = 0; worker < 2; ++worker) {
      EXPECT_TRUE(std::getline(reader, word)) << "a worker has started";
    }
    EXPECT_EQ(::kill(job, signal), 0);
    const TrainOutcome outcome = finish(job);
    EXPECT_FALSE(std::getline(reader, word)) << "nobody holds the pipe any more";
    return outcome;
  }
};

TEST_P(TrainEnd, ASignalEndsAllWorkers) {
  const TrainOutcome outcome = end_by(GetParam());

  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.report["reason"], "interrupted");
}

INSTANTIATE_TEST_SUITE_P(Signals, TrainEnd, testing::Values(SIGINT, SIGTERM),
                         [](const auto& tried) {
                           return std::string(tried.param == SIGINT ? "Interrupt" : "Terminate");
                         });

using TrainKilled = TrainEnd;
TEST_P(TrainKilled, ItsOwnDeathLeavesNoWorkerBehind) {
  EXPECT_EQ(end_by(GetParam()).code, 128 + SIGKILL);
}
TEST_P(TrainKilled, TheNextJobSweepsItsTemporaryFolder) {
  end_by(GetParam());
  ASSERT_FALSE(std::filesystem::is_empty(path("tmp")));

  // Of a job that ends by itself all temporary files must be gone.
  EXPECT_EQ(train({}, shell("exit 75")).code, 75);
}
INSTANTIATE_TEST_SUITE_P(Signals, TrainKilled, testing::Values(SIGKILL));

}  // namespace
}  // namespace rubato
