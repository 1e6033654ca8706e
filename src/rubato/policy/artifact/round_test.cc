#include "rubato/policy/artifact/round.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/policy/artifact/caps.h"
#include "rubato/policy/artifact/frame_test.h"
#include "rubato/policy/artifact/greedy.h"

namespace rubato::policy::artifact {
namespace {

BookedJob job(std::uint64_t id, double left, WholeSeconds deadline) {
  return BookedJob{.id = JobId{id},
                   .deadline = deadline,
                   .left = left,
                   .levels = {{1, 1.0}, {2, 2.0}, {4, 4.0}}};
}

const BookedJob& find(const Books& books, std::uint64_t id) {
  return *std::ranges::find(books, JobId{id}, &BookedJob::id);
}

struct Round {
  Books books{};
  Steps free{};
  std::vector<Reason> reasons{};
};

Round admit_to(Books books, const Books& arrivals, const Frame& frame = kFrame) {
  Round round{.books = std::move(books)};
  round.reasons = admit(round.books, arrivals, frame, round.free);
  return round;
}

TEST(ArtifactAdmission, OneJobThatDoesNotFitSinksItsBatch) {
  const Round round = admit_to({}, {job(1, 10, 100), job(2, 1000, 50)});

  EXPECT_EQ(round.reasons, (std::vector{Reason::BatchRefused, Reason::DeadlineTooSoon}));
  EXPECT_TRUE(round.books.empty());
}

TEST(ArtifactAdmission, ALateJobVetoesEveryArrival) {
  const Round round = admit_to({job(1, 1000, 50)}, {job(2, 1, 10000)});

  EXPECT_EQ(round.reasons, std::vector{Reason::LateJobVeto});
  EXPECT_EQ(round.books.size(), 1U);
}

TEST(ArtifactAdmission, AnArrivalMayNotMakeAnotherJobLate) {
  const Round round = admit_to({job(1, 200, 60)}, {job(2, 100, 50)});

  EXPECT_EQ(round.reasons, std::vector{Reason::PromisesInTheWay});
}

TEST(ArtifactAdmission, BestEffortJoinsEvenARefusedBatch) {
  const Round round = admit_to({}, {job(1, 10, kForever), job(2, 1000, 50)});

  EXPECT_EQ(round.reasons, (std::vector{Reason::None, Reason::DeadlineTooSoon}));
  EXPECT_EQ(round.books.size(), 1U);
}

// Jobs that turn out slower than known are late with next to nothing left; found with --noise.
TEST(ArtifactGreedy, LateJobsWithSliversOfWorkShareTheCluster) {
  const Frame frame{.now = 20'000'000, .slot = 10, .gpus = 4};
  for (int slivers = 1; slivers <= 3; ++slivers) {
    Books books = {job(1, 1'000, kForever), job(2, 40, frame.now + 100)};
    for (int i = 0; i < slivers; ++i) {
      books.push_back(job(static_cast<std::uint64_t>(3 + i), 1e-9, frame.now - 60 - i));
    }
    Round round = admit_to(books, {job(9, 5, kForever)}, frame);

    hand_out(round.books, frame, round.free);

    int used = 0;
    for (const BookedJob& each : round.books) {
      used += each.gpus;
      EXPECT_GT(each.end, frame.now);
    }
    EXPECT_EQ(used, frame.gpus);
    EXPECT_EQ(round.free.front().gpus, 0);
  }
}

TEST(ArtifactGreedy, RaisesTheJobThatScalesWorst) {
  const Frame frame{.now = 0, .slot = 10, .gpus = 3};
  BookedJob bad = job(2, 100, 100);
  bad.levels = {{1, 1.0}, {2, 1.1}};
  Round round = admit_to({}, {job(1, 100, 100), bad}, frame);

  hand_out(round.books, frame, round.free);

  // Two GPUs for job 1 would cost nothing (half the time); for job 2 they cost 100 GPU-seconds.
  EXPECT_EQ(find(round.books, 1).gpus, 1);
  EXPECT_EQ(find(round.books, 2).gpus, 2);
  EXPECT_EQ(find(round.books, 2).real_end, 91);
}

TEST(ArtifactGreedy, ServesJobsWithoutGpusFirst) {
  const Frame frame{.now = 0, .slot = 10, .gpus = 2};
  Round round = admit_to({}, {job(1, 100, 100), job(2, 100, 1000)}, frame);
  ASSERT_EQ(find(round.books, 2).gpus, 0);

  hand_out(round.books, frame, round.free);

  EXPECT_EQ(find(round.books, 1).gpus, 1);
  EXPECT_EQ(find(round.books, 2).gpus, 1);
}

TEST(ArtifactGreedy, ALoneJobGetsAllTheGpusItCanUse) {
  Round round = admit_to({}, {job(1, 100, 1000)});

  hand_out(round.books, kFrame, round.free);

  EXPECT_EQ(find(round.books, 1).gpus, 4);
  EXPECT_EQ(find(round.books, 1).real_end, 25);
}

TEST(ArtifactGroups, AGroupIsKnownByItsFirstGpuAndItsSize) {
  Groups groups;
  groups.begin_round(60);
  EXPECT_FALSE(groups.place(4));
  EXPECT_FALSE(groups.place(2));
  groups.end_round();

  groups.begin_round(60);
  EXPECT_TRUE(groups.place(4));   // Whoever used it.
  EXPECT_FALSE(groups.place(1));  // Same first GPU, other size.
  EXPECT_FALSE(groups.place(2));  // Same size, other first GPU.
}

TEST(ArtifactGroups, RestartsAfterEachFullNumberOfRoundsAndForgetsItsOwnGroups) {
  Groups groups;
  std::vector<bool> restarts;
  std::vector<bool> known;
  for (int round = 0; round < 7; ++round) {
    restarts.push_back(groups.begin_round(3));
    known.push_back(groups.place(4));
    groups.end_round();
  }

  EXPECT_EQ(restarts, (std::vector{false, false, false, true, false, false, true}));
  EXPECT_EQ(known, (std::vector{false, true, true, true, false, true, true}));
}

TEST(ArtifactCharge, EveryRunningJobPaysAndEndsLater) {
  const ResizeCost costs(ResizeCostModel::Artifact, 4, std::chrono::seconds{60});
  Groups groups;
  Books books{job(1, 100, 1000), job(2, 100, 1000), job(3, 100, 1000)};
  books[0].gpus = 1;
  books[1].gpus = 2;
  for (BookedJob& each : books) {
    each.end = 100;
  }

  charge(books, groups, costs);

  EXPECT_EQ(books[0].id, JobId{2});  // Largest first.
  EXPECT_EQ(books[0].end, 106);      // 2 + 2 * (log2(2) + 1)
  EXPECT_EQ(books[1].end, 104);
  EXPECT_EQ(books[2].end, 100);
}

TEST(ArtifactBooks, WorkCountsOnlyAfterThePauseAndBeforeTheRealEnd) {
  BookedJob running = job(1, 100, 1000);
  running.gpus = 1;
  running.pause = 4;
  running.real_end = 90;
  running.end = 120;

  EXPECT_FALSE(advance(running, 100, 50, 1.0));
  EXPECT_EQ(running.left, 100 - (50 - 10 - 4));
}

TEST(ArtifactBooks, AJobEndsWhenItsEndIsOverWhateverIsLeft) {
  BookedJob running = job(1, 100, 1000);
  running.gpus = 1;
  running.real_end = 90;
  running.end = 100;

  EXPECT_TRUE(advance(running, 100, 50, 1.0));
  running.gpus = 0;
  EXPECT_FALSE(advance(running, 150, 50, 1.0));
}

TEST(ArtifactBooks, AJobWhoseWorkIsDoneEndsBeforeItsEnd) {
  BookedJob running = job(1, 50, 1000);
  running.gpus = 1;
  running.real_end = 200;
  running.end = 200;

  EXPECT_TRUE(advance(running, 100, 50, 1.0));
}

TEST(ArtifactBooks, TheNextRoundIsTheFirstEndOrChangeButASlotAwayAtLeast) {
  Books books{job(1, 1, 1), job(2, 1, 1)};
  books[0].end = 130;
  books[0].steps = {{100, 1}, {170, 0}};
  books[1].end = 150;
  books[1].steps = {{100, 1}};

  EXPECT_EQ(next_round(books, 100, 10), 130);
  EXPECT_EQ(next_round(books, 100, 60), 160);
  books[1].steps = {{100, 1}, {120, 2}};
  EXPECT_EQ(next_round(books, 100, 10), 120);
  EXPECT_EQ(next_round({}, 100, 10), kForever);
}

TEST(ArtifactBooks, AChangeBetweenAnEndAndItsPauseIsForgotten) {
  Books books{job(1, 1, 1)};
  books[0].end = 134;
  books[0].pause = 4;
  books[0].steps = {{100, 1}, {130, 0}};

  EXPECT_EQ(next_round(books, 100, 10), 134);
}

TEST(ArtifactCaps, FollowTheHandWrittenTable) {
  EXPECT_EQ(gpus_max("bert", 64, "A100"), 8);
  EXPECT_EQ(gpus_max("bert", 128, "A100"), 16);
  EXPECT_EQ(gpus_max("resnet50", 256, "A100"), 64);
  EXPECT_EQ(gpus_max("deepspeech2", 32, "A100"), 32);
  EXPECT_EQ(gpus_max("ncf", 32768, "T4"), 1);
  EXPECT_EQ(gpus_max("deepspeech2", 640, "T4"), 64);
  EXPECT_EQ(gpus_max("anything", 0, ""), 64);
}

}  // namespace
}  // namespace rubato::policy::artifact
