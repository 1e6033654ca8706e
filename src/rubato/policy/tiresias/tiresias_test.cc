#include "rubato/policy/tiresias/tiresias.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/testing/policy_scene.h"
#include "rubato/policy/testing/random_gangs_test.h"

namespace rubato::policy::tiresias {
namespace {

Scene::Make tiresias(std::string_view options = "") {
  return [text = std::string(options)] { return make_tiresias(*PolicyOptions::parse(text)); };
}

constexpr GangLimits kTiresiasLimits{.jobs = 14, .arrival = 40, .gpus = 6, .seconds = 25};

TEST(Tiresias, MatchesThePaperExampleWithAQueueForEachUnitOfService) {
  Scene scene(tiresias("thresholds=1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16,falls=prompt"),
              {.cluster = "1x2", .slot_seconds = 1});
  scene.submit({linear_job(1, 0, 2, 2), linear_job(2, 0, 1, 8), linear_job(3, 0, 2, 6)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 5);
  EXPECT_EQ(scene.finish(2), 14);
  EXPECT_EQ(scene.finish(3), 16);
}

TEST(Tiresias, SendsALongJobAwayForANewOne) {
  Scene scene(tiresias("thresholds=10"), {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 30), linear_job(2, 15, 1, 5)});

  scene.run();

  EXPECT_EQ(scene.finish(2), 20);
  EXPECT_EQ(scene.finish(1), 35);
}

TEST(Tiresias, WakesWhenAJobReachesItsThreshold) {
  const auto finish_of_second = [](std::string_view options) {
    Scene scene(tiresias(options), {.cluster = "1x2"});
    scene.submit({linear_job(1, 0, 2, 30), linear_job(2, 1, 1, 4)});
    scene.run();
    return scene.finish(2);
  };

  // Job 1 has had 10 GPU-seconds at 5; the guess at 1, (10 - 1) / 2 seconds, is rounded up to 6.
  EXPECT_EQ(finish_of_second("thresholds=10,falls=prompt"), 9);
  EXPECT_EQ(finish_of_second("thresholds=10,order=artifact,falls=artifact"), 10);
}

TEST(Tiresias, LetsTheRunningJobGoOnWithinAQueue) {
  Scene scene(tiresias("thresholds=100"), {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 30), linear_job(2, 1, 1, 2)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 30);
}

TEST(Tiresias, SkipsWhatDoesNotFit) {
  Scene scene(tiresias(), {.cluster = "1x4"});
  scene.submit({linear_job(1, 0, 3, 5), linear_job(2, 0, 2, 5), linear_job(3, 0, 1, 5)});

  scene.run_until(1);

  EXPECT_EQ(scene.share(2), 0);
  EXPECT_EQ(scene.share(3), 1);
}

TEST(Tiresias, DoesNotCountPausesAsService) {
  Scene scene(tiresias("thresholds=10"),
              {.cluster = "1x1", .accounting = ResizeCostModel::Physical});
  scene.submit({linear_job(1, 0, 1, 30), linear_job(2, 1, 1, 5)});

  scene.run_until(13.9);
  EXPECT_EQ(scene.share(1), 1);
  scene.run_until(14);  // A start takes 3.904 seconds.

  EXPECT_EQ(scene.share(1), 0);
  EXPECT_EQ(scene.share(2), 1);
}

TEST(Tiresias, LooksAgainWhenAPauseHasDelayedAFall) {
  Scene scene(tiresias("thresholds=2,falls=prompt"),
              {.cluster = "1x1", .accounting = ResizeCostModel::Physical});
  scene.submit(linear_job(1, 0, 1, 30));

  scene.run_until(6);

  EXPECT_EQ(scene.rounds(), 3);  // At 0, at 2 in vain, at 3.904 + 2.
}

TEST(Tiresias, FallsOneQueueAtARoundUnlessToldOtherwise) {
  const auto narrow_job_runs = [](std::string_view options) {
    Scene scene(tiresias(options), {.cluster = "1x8", .slot_seconds = 10});
    scene.submit({linear_job(1, 0, 8, 100), linear_job(2, 5, 1, 100)});
    scene.run_until(25);
    return scene.share(2) > 0;
  };

  // Job 1 has 80 GPU-seconds at its first fall. If it stays in the second queue, job 2 ends up
  // behind it when it falls; if not, ahead of it.
  EXPECT_FALSE(narrow_job_runs("thresholds=10/20,falls=artifact,order=artifact"));
  EXPECT_TRUE(narrow_job_runs("thresholds=10/20,falls=prompt,order=artifact"));
}

TEST(Tiresias, PromotesAJobThatHasWaitedAsLongAsItRan) {
  const auto finish_of_first = [](std::string_view options) {
    Scene scene(tiresias(options), {.cluster = "1x1"});
    scene.submit(linear_job(1, 0, 1, 15));
    for (std::uint64_t id = 2; id < 12; ++id) {
      scene.submit(linear_job(id, 5.0 * static_cast<double>(id), 1, 5));
    }
    scene.run();
    return scene.finish(1);
  };

  // Stopped at 10 after 10 seconds; back in the first queue at 20, next in turn at 25.
  EXPECT_EQ(finish_of_first("thresholds=6"), 65);
  EXPECT_EQ(finish_of_first("thresholds=6,knob=1"), 30);
}

TEST(Tiresias, PrefersTheHigherGittinsIndexInsideAQueue) {
  // Jobs of 4 and 40 GPU-seconds were seen, so who has had more than 4 is the nearer to its end the
  // more it has had. At 53 job 3 has had 9 and job 4, on 4 GPUs, 16.
  const auto share_of_fourth = [](std::string_view options) {
    Scene scene(tiresias(options), {.cluster = "1x4", .slot_seconds = 4});
    scene.submit({linear_job(1, 0, 1, 4), linear_job(2, 0, 1, 40), linear_job(3, 40, 1, 40),
                  linear_job(4, 46, 4, 10)});
    scene.run_until(54);
    return scene.share(4);
  };

  EXPECT_EQ(share_of_fourth("thresholds=5"), 0);
  EXPECT_EQ(share_of_fourth("thresholds=5,gittins=on"), 4);
}

TEST(Tiresias, TakesUpAJobThatLostItsWorkers) {
  Scene scene(tiresias(), {.cluster = "2x1"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 0, 1, 20)});

  scene.run_until(5);
  scene.set_node(NodeId{0}, false);
  scene.run_until(6);
  scene.set_node(NodeId{0}, true);
  scene.run();

  EXPECT_EQ(scene.finish(1), 11);
  EXPECT_EQ(scene.finish(2), 20);
}

TEST(Tiresias, ReadsItsOptions) {
  EXPECT_TRUE(tiresias("thresholds=57600")().ok());
  EXPECT_FALSE(tiresias("thresholds=2/1")().ok());
  EXPECT_FALSE(tiresias("thresholds=0")().ok());
  EXPECT_FALSE(tiresias("thresholds=")().ok());
  EXPECT_FALSE(tiresias("treshold=1")().ok());
  EXPECT_FALSE(tiresias("falls=never")().ok());
  EXPECT_FALSE(tiresias("gittins=perhaps")().ok());
  EXPECT_FALSE(tiresias("knob=-1")().ok());
}

TEST(Tiresias, ContinuesFromASavedState) {
  const std::array<std::string_view, 3> options = {
      "thresholds=20/50", "thresholds=20/50,gittins=on,falls=prompt", "thresholds=20,knob=1"};
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SceneOptions world{.cluster = "2x3",
                       .slot_seconds = static_cast<double>(seed % 3),
                       .accounting = ResizeCostModel::Physical};
    Scene kept(tiresias(options[seed % 3]), world);
    world.reloads = true;
    Scene reloaded(tiresias(options[seed % 3]), world);
    kept.submit(random_gangs(seed, kTiresiasLimits));
    reloaded.submit(random_gangs(seed, kTiresiasLimits));

    kept.run();
    reloaded.run();

    ASSERT_EQ(kept.finishes(), reloaded.finishes()) << "seed " << seed;
    ASSERT_EQ(kept.rounds(), reloaded.rounds()) << "seed " << seed;
  }
}

TEST(Tiresias, AlwaysMovesOnInTime) {
  // Run times that are no whole numbers once made it ring at one moment for ever.
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    Scene scene(tiresias(seed % 2 == 0 ? "thresholds=3/7" : "thresholds=3/7,falls=prompt"),
                {.cluster = "1x6"});
    for (std::uint64_t id = 1; id <= 20; ++id) {
      scene.submit(linear_job(id, random.uniform(0, 40), static_cast<int>(random.integer(1, 6)),
                              random.uniform(0.1, 9)));
    }

    scene.run();

    ASSERT_EQ(scene.finishes().size(), 20U) << "seed " << seed;
    ASSERT_LT(scene.rounds(), 200) << "seed " << seed;
  }
}

// The queues as plain lists, walked from end to end at each round.
class ListedQueues {
 public:
  std::map<JobId, int> round(const View& view) {
    drop_finished(view);
    let_fall(view);
    int free = view.capacity[0];
    std::map<JobId, int> shares;
    for (auto& queue : queues_) {
      for (const JobId id : queue) {
        const int workers = rounds::gang_of(view.jobs.at(id), view)->workers;
        shares[id] = workers <= free ? workers : 0;
        free -= shares[id];
      }
      std::ranges::stable_partition(queue, [&](JobId id) { return shares[id] > 0; });
    }
    shares_ = shares;
    return shares;
  }

 private:
  void drop_finished(const View& view) {
    for (auto& queue : queues_) {
      std::erase_if(queue, [&](JobId id) { return view.jobs.find(id) == nullptr; });
    }
    std::vector<std::pair<Instant, JobId>> arrivals;
    view.jobs.for_each([&](const JobState& job) {
      if (!shares_.contains(job.id())) {
        arrivals.emplace_back(job.job.arrival, job.id());
      }
    });
    std::ranges::sort(arrivals);
    for (const auto& [arrival, id] : arrivals) {
      queues_[0].push_back(id);
    }
  }

  void let_fall(const View& view) {
    std::vector<std::pair<int, std::pair<Instant, JobId>>> running;
    for (const auto& [id, share] : shares_) {
      const JobState* job = view.jobs.find(id);
      if (job != nullptr && share > 0) {
        running.push_back({-share, {job->job.arrival, id}});
      }
    }
    std::ranges::sort(running);
    for (const auto& [width, place] : running) {
      const JobId id = place.second;
      // Speed is one step per GPU and second, so steps are GPU-seconds.
      const double service = view.jobs.at(id).progress.at(view.now);
      for (std::size_t q = 0; q + 1 < queues_.size(); ++q) {
        const auto found = std::ranges::find(queues_[q], id);
        if (found != queues_[q].end() && service > kThresholds[q] - 1e-6) {
          queues_[q].erase(found);
          queues_[q + 1].push_back(id);
          break;
        }
      }
    }
  }

  static constexpr std::array<double, 2> kThresholds = {20, 50};
  std::array<std::vector<JobId>, 3> queues_;
  std::map<JobId, int> shares_;
};

TEST(Tiresias, EqualsPlainListsOnRandomJobs) {
  int rounds = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Scene scene(tiresias("thresholds=20/50,order=artifact,falls=artifact"),
                {.cluster = "1x6", .slot_seconds = static_cast<double>(seed % 4)});
    scene.submit(random_gangs(seed, kTiresiasLimits));
    ListedQueues queues;
    scene.watch([&] {
      ++rounds;
      ASSERT_EQ(scene.shares(), queues.round(scene.view())) << "seed " << seed;
    });

    scene.run();

    ASSERT_EQ(scene.finishes().size(), 14U) << "seed " << seed;
  }
  EXPECT_GT(rounds, 30'000);
}

TEST(Tiresias, GivesTheGpusOfLaterJobsToAnEarlierOneInOrderOfArrival) {
  const auto shares = [](std::string_view options) {
    Scene scene(tiresias(options), {.cluster = "1x4"});
    scene.submit({linear_job(1, 0, 2, 10), linear_job(2, 1, 4, 10), linear_job(3, 2, 2, 100)});
    scene.run_until(11);
    return std::pair(scene.share(2), scene.share(3));
  };

  // Job 2 was too wide while job 1 ran, and job 3 slipped past it.
  EXPECT_EQ(shares("order=arrival"), std::pair(4, 0));
  EXPECT_EQ(shares("order=artifact"), std::pair(0, 2));
}

}  // namespace
}  // namespace rubato::policy::tiresias
