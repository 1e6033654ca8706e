#include "rubato/live/controller/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/live/controller/controller_world_test.h"

namespace rubato {
namespace {

const LiveJob& job_in(ControllerWorld& world, JobId id) { return *world.controller().find(id); }

TEST(Controller, RunsAJobFromSubmissionToItsEnd) {
  ControllerWorld world(1, 4, 1);
  const JobId id = world.submit(200, 60);
  EXPECT_TRUE(job_in(world, id).has_promise());
  world.run(30);
  EXPECT_EQ(job_in(world, id).state, LiveState::Succeeded);
  EXPECT_LE(job_in(world, id).end.at, job_in(world, id).promise.promised);
}

TEST(Controller, OrdersSayWhenTheyWereDecided) {
  ControllerWorld world(1, 4, 1);
  const JobId id = world.submit(2000, 0);
  world.run(2);

  ASSERT_FALSE(job_in(world, id).resizes.empty());
  for (const PlayedInput& played : world.history()) {
    for (const AgentOrder& order : played.effects.orders) {
      EXPECT_EQ(order.message.run().decided_us(),
                job_in(world, id).resizes.front().at.time_since_epoch().count());
    }
  }
}

// The speed the engine believes in, after a report of so many times as much.
std::pair<double, double> speeds_after(double times) {
  ControllerWorld world(1, 4, 1);
  const JobId id = world.submit(2000, 0);
  world.run(5);
  const auto& job = job_in(world, id);
  const auto sanitized = [&] {
    return world.controller().engine().state().jobs.at(job.engine_id).progress.speed;
  };
  const double before = sanitized();
  wire::JournalInput input;
  input.mutable_report()->set_job("1");
  input.mutable_report()->set_order(job.order);
  input.mutable_report()->set_workers(job.workers);
  input.mutable_report()->set_done(job.done);
  input.mutable_report()->set_speed(before * times);
  world.play(input);
  return {before, sanitized()};
}

TEST(Controller, TakesNoNoticeOfSpeedsThatPlansHaveAMarginFor) {
  const auto [before, after] = speeds_after(0.98);
  EXPECT_EQ(after, before);
}

TEST(Controller, BelievesSpeedsThatPlansHaveNoMarginFor) {
  const auto [before, after] = speeds_after(0.9);
  EXPECT_DOUBLE_EQ(after, before * 0.9);
}

// What the engine believes a job has done, after it was told of so many steps less than that.
std::pair<double, double> belief_after(double less) {
  ControllerWorld world(1, 4, 1);
  const JobId id = world.submit(2000, 0);
  world.run(5);
  const auto sanitized = [&] {
    return world.controller()
        .engine()
        .state()
        .jobs.at(job_in(world, id).engine_id)
        .progress.at(world.now());
  };
  const double before = sanitized();
  wire::JournalInput input;
  input.mutable_report()->set_job("1");
  input.mutable_report()->set_order(job_in(world, id).order);
  input.mutable_report()->set_workers(job_in(world, id).workers);
  input.mutable_report()->set_done(before - less);
  world.play(input);
  return {before, sanitized()};
}

TEST(Controller, AStepUnderWayIsNoDelay) {
  const auto [before, after] = belief_after(0.9);
  EXPECT_DOUBLE_EQ(after, before);
}

TEST(Controller, BelievesReportsThatSayMoreThanAStepUnderWay) {
  const auto [before, after] = belief_after(50);
  EXPECT_LT(after, before - 20);
  const auto [less, more] = belief_after(-50);
  EXPECT_DOUBLE_EQ(more, less + 50);
}

TEST(Controller, RefusesADeadlineThatCannotBeKept) {
  ControllerWorld world(1, 4, 1);
  const JobId id = world.submit(100'000, 10);
  EXPECT_EQ(job_in(world, id).state, LiveState::Rejected);
  EXPECT_EQ(job_in(world, id).reason, Reason::DeadlineTooSoon);
  EXPECT_THAT(world.history().back().effects.orders, testing::IsEmpty());
}

TEST(Controller, QuotesAsItWillAnswer) {
  ControllerWorld world(1, 4, 1);
  world.submit(1000, 60);
  wire::Submitted asked;
  asked.mutable_spec()->set_steps(2000);
  for (const wire::SpeedPoint& point : true_speeds()) {
    *asked.add_known() = point;
  }
  asked.set_deadline_us((world.now() + std::chrono::seconds(40)).time_since_epoch().count());
  const wire::QuoteReply refused = world.controller().quote(world.now(), asked);
  EXPECT_FALSE(refused.admitted());
  ASSERT_TRUE(refused.has_earliest());
  asked.set_deadline_us(refused.earliest().seconds() * 1'000'000 +
                        refused.earliest().nanos() / 1000);
  EXPECT_TRUE(world.controller().quote(world.now(), asked).admitted())
      << "the counter-offer must be granted when it is taken";
}

wire::Submitted asked_job(const ControllerWorld& world, double steps, double seconds) {
  wire::Submitted asked;
  asked.mutable_spec()->set_steps(steps);
  for (const wire::SpeedPoint& point : true_speeds()) {
    *asked.add_known() = point;
  }
  asked.set_deadline_us((world.now() + from_seconds(seconds)).time_since_epoch().count());
  return asked;
}

TEST(Controller, QuotesWhenAJobIsExpectedToEndBesideWhatItIsPromised) {
  ControllerWorld world(1, 4, 1);
  const wire::Submitted asked = asked_job(world, 2000, 300);

  const wire::QuoteReply quote = world.controller().quote(world.now(), asked);
  const std::string state = world.controller().save();
  const wire::QuoteReply again = world.controller().quote(world.now(), asked);

  EXPECT_EQ(quote.basis(), "simulated");
  // Four workers make 35 steps a second: idle ones are used, though the plan needs only one.
  EXPECT_NEAR(static_cast<double>(quote.finish().seconds()) - to_seconds(world.now()), 57, 3);
  EXPECT_GT(quote.planned_finish().seconds(), quote.finish().seconds() + 60);
  EXPECT_GE(quote.promised().seconds(), quote.planned_finish().seconds());
  EXPECT_EQ(quote.SerializeAsString(), again.SerializeAsString());
  EXPECT_EQ(state, world.controller().save());
}

TEST(Controller, ExpectsTheFinishThatComes) {
  ControllerWorld world(1, 4, 1);
  const JobId first = world.submit(2000, 600);
  world.run(20);
  const JobId second = world.submit(1500, 400);
  const Instant expected = job_in(world, second).promise.quoted_finish;
  EXPECT_TRUE(job_in(world, second).promise.is_simulated);
  world.run(300);
  ASSERT_EQ(job_in(world, first).state, LiveState::Succeeded);
  ASSERT_EQ(job_in(world, second).state, LiveState::Succeeded);
  const double quoted = to_seconds(expected - job_in(world, second).submitted);
  EXPECT_NEAR(to_seconds(job_in(world, second).end.at - expected), 0, 0.05 * quoted);
  EXPECT_EQ(world.controller().quote_errors().size(), 2U);
  EXPECT_LE(world.controller().quote_errors().back(), 0.05);
}

// In a world where every step and message takes longer than was measured.
TEST(Controller, KeepsFirmQuotesThoughOthersCome) {
  std::vector<double> errors;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    ControllerWorld world(2, 4, seed, /*firm_quotes=*/0.05);
    Random random(seed);
    for (int i = 0; i < 15; ++i) {
      const double steps = random.uniform(1000, 8000);
      world.submit(steps, steps / 20 * random.uniform(1, 4));
      world.run(random.exponential(20));
    }
    world.run(3000);
    for (const auto& [id, job] : world.controller().jobs()) {
      EXPECT_TRUE(is_over(job.state)) << "seed " << seed;
      EXPECT_TRUE(!job.has_promise() || job.end.at <= job.promise.promised) << "seed " << seed;
    }
    const auto found = world.controller().quote_errors();
    errors.insert(errors.end(), found.begin(), found.end());
  }
  ASSERT_GT(errors.size(), 20U);
  std::ranges::sort(errors);
  EXPECT_LE(errors[errors.size() / 2], 0.05);
  EXPECT_LE(errors[errors.size() * 9 / 10], 0.1);
}

TEST(Controller, QuotesThePlanWhereTooManyJobsAreActiveToPlayThemOn) {
  ControllerWorld world(1, 4, 1);
  for (int i = 0; i < 1100; ++i) {
    world.submit(100'000, 0);
  }
  const wire::QuoteReply quote = world.controller().quote(world.now(), asked_job(world, 2000, 300));

  EXPECT_TRUE(quote.admitted());
  EXPECT_EQ(quote.basis(), "planned");
  EXPECT_EQ(quote.finish().seconds(), quote.planned_finish().seconds());
}

TEST(Controller, HoldsNobodyUpWithForecastsInABurst) {
  ControllerWorld world(4, 4, 1);
  int simulated = 0;
  for (int i = 0; i < 600; ++i) {
    const JobId id = world.submit(200, 3600);
    simulated += job_in(world, id).promise.is_simulated ? 1 : 0;
  }
  EXPECT_GT(simulated, 10);
  EXPECT_LT(simulated, 300);
}

TEST(Controller, StretchesABestEffortJobOverWhatIsFree) {
  ControllerWorld world(1, 4, 1);
  const JobId best_effort = world.submit(100'000, 0);
  world.run(5);
  EXPECT_EQ(job_in(world, best_effort).workers, 4);
  world.submit(900, 40);
  world.run(5);
  EXPECT_LT(job_in(world, best_effort).workers, 4);
  EXPECT_THAT(job_in(world, best_effort).resizes.back().cause,
              testing::HasSubstr("arrival of job 2"));
}

TEST(Controller, MeasuresAJobOfUnknownSpeedBeforeItAnswers) {
  ControllerWorld world(1, 4, 1);
  const JobId id = world.submit(800, 60, false);
  EXPECT_EQ(job_in(world, id).state, LiveState::Profiling);
  EXPECT_FALSE(job_in(world, id).has_promise());
  world.run(8);
  EXPECT_TRUE(job_in(world, id).has_promise());
  world.run(50);
  EXPECT_EQ(job_in(world, id).state, LiveState::Succeeded);
  EXPECT_FALSE(world.controller().known_speeds(job_in(world, id).spec).empty());
}

TEST(Controller, StartsAgainWhatWasLost) {
  ControllerWorld world(1, 4, 1);
  const JobId id = world.submit(1000, 120);
  world.run(5);
  world.lose(id);
  EXPECT_EQ(job_in(world, id).restarts, 1);
  world.run(60);
  EXPECT_EQ(job_in(world, id).state, LiveState::Succeeded);
  EXPECT_EQ(job_in(world, id).restarts, 1) << "what runs it since has counted from zero";
  EXPECT_LE(job_in(world, id).end.at, job_in(world, id).promise.promised);
}

TEST(Controller, GivesUpAJobThatIsLostAgainAndAgain) {
  ControllerWorld world(1, 4, 1);
  const JobId id = world.submit(100'000, 0);
  for (int i = 0; i < 5; ++i) {
    world.run(6);
    world.lose(id);
  }
  world.run(6);
  EXPECT_EQ(job_in(world, id).state, LiveState::Running) << "it got on in between";
  ControllerWorld still(1, 4, 1);
  const JobId stuck = still.submit(100'000, 0);
  for (int i = 0; i < 12; ++i) {
    still.run(1.2);  // Never as far as its first snapshot.
    still.lose(stuck);
  }
  EXPECT_EQ(job_in(still, stuck).state, LiveState::Failed);
}

TEST(Controller, CountsALossOnceHoweverOftenItIsToldOf) {
  ControllerWorld world(1, 4, 1);
  const JobId id = world.submit(100'000, 0);
  world.run(6);
  world.lose(id);
  const wire::JournalInput told = world.history().back().input;
  for (int i = 0; i < 5; ++i) {
    world.play(told);
  }

  EXPECT_EQ(job_in(world, id).state, LiveState::Recovering);
  EXPECT_EQ(job_in(world, id).restarts, 1);
  world.run(6);
  EXPECT_EQ(job_in(world, id).state, LiveState::Running);
}

TEST(Controller, MovesJobsOffANodeThatIsDrained) {
  ControllerWorld world(2, 2, 1);
  const JobId id = world.submit(100'000, 0);
  world.run(5);
  EXPECT_EQ(job_in(world, id).workers, 4);
  wire::JournalInput drain;
  drain.mutable_node_request()->set_node("n0");
  drain.mutable_node_request()->mutable_request()->set_drain(true);
  world.play(drain);
  world.run(5);
  EXPECT_EQ(job_in(world, id).workers, 2);
  const wire::JobStatus status = world.controller().status(world.now(), job_in(world, id));
  for (const std::string& slot : status.slots()) {
    EXPECT_THAT(slot, testing::StartsWith("n1/"));
  }
}

TEST(Controller, WhatBefallsAJobDoesNotTellTheNamesOfOthers) {
  ControllerWorld world(1, 4, 1);
  const JobId mine = world.submit(100'000, 0);
  world.run(3);
  wire::JournalInput arrival = world.history().back().input;
  for (const PlayedInput& each : world.history()) {
    arrival = each.input.has_submitted() ? each.input : arrival;
  }
  arrival.mutable_submitted()->set_job(99);
  arrival.mutable_submitted()->mutable_spec()->set_name("secret");
  world.play(arrival);
  world.run(3);
  wire::JournalInput cancel;
  cancel.mutable_cancelled()->set_job(99);
  world.play(cancel);
  world.run(3);

  ASSERT_GE(job_in(world, mine).resizes.size(), 3U);
  for (const ResizeRecord& resize : job_in(world, mine).resizes) {
    EXPECT_THAT(resize.cause, testing::Not(testing::HasSubstr("secret")));
  }
  EXPECT_THAT(job_in(world, mine).resizes[1].cause, testing::HasSubstr("arrival of job 99"));
  for (const PlayedInput& each : world.history()) {
    for (const wire::EventRecord& event : each.effects.events) {
      if (event.job() == std::to_string(mine.value)) {
        EXPECT_THAT(event.message(), testing::Not(testing::HasSubstr("secret")));
      }
    }
  }
}

TEST(Controller, KeepsItsJobsWhenThePolicyChanges) {
  ControllerWorld world(1, 4, 1);
  const JobId promised = world.submit(800, 90);
  const JobId other = world.submit(500, 0);
  world.run(3);
  wire::JournalInput change;
  change.mutable_policy()->set_policy("srtf");
  world.play(change);
  world.run(100);
  EXPECT_EQ(job_in(world, promised).state, LiveState::Succeeded);
  EXPECT_EQ(job_in(world, other).state, LiveState::Succeeded);
}

TEST(Controller, EndsAJobThatReachesItsMaxRuntime) {
  ControllerWorld world(1, 4, 1);
  const JobId limited = world.submit(100'000, 0, true, "20s");
  const JobId other = world.submit(2'000, 0);
  world.run(19);
  EXPECT_FALSE(is_over(job_in(world, limited).state));
  world.run(3);
  EXPECT_EQ(job_in(world, limited).state, LiveState::Failed);
  EXPECT_EQ(job_in(world, limited).end.exit_code, 124);
  EXPECT_EQ(job_in(world, limited).end.cause, "max_runtime of 20s reached");
  EXPECT_EQ(job_in(world, other).workers, 4) << "it gets what became free";
}

TEST(Controller, DoesNotCountTheTimeThatAJobHadToWait) {
  ControllerWorld world(1, 4, 1);
  const JobId limited = world.submit(100'000, 0, true, "20s");
  world.run(10);
  const JobId urgent = world.submit(true_speed(4) * 30, 36);
  ASSERT_TRUE(job_in(world, urgent).has_promise());
  world.run(5);
  ASSERT_EQ(job_in(world, limited).workers, 0) << "it was to wait";
  world.run(100);
  EXPECT_EQ(job_in(world, limited).state, LiveState::Failed);
  EXPECT_GT(to_seconds(job_in(world, limited).end.at - job_in(world, limited).submitted), 45);
  EXPECT_NEAR(to_seconds(job_in(world, limited).ran), 20, 0.5);
}

/// A busy hour of a small cluster.
void play_random(ControllerWorld& world, std::uint64_t seed, bool with_losses) {
  Random random(seed);
  std::vector<JobId> jobs;
  for (int i = 0; i < 25; ++i) {
    const double steps = random.uniform(50, 1500);
    const double slack = random.uniform(0.5, 6);
    const bool has_deadline = random.chance(0.6);
    jobs.push_back(world.submit(steps, has_deadline ? 4 + steps / 15 * slack : 0, true,
                                !has_deadline && i % 3 == 0 ? "30s" : ""));
    world.run(random.exponential(6));
    if (random.chance(0.1)) {
      wire::JournalInput cancel;
      cancel.mutable_cancelled()->set_job(
          jobs[static_cast<std::size_t>(random.integer(0, i))].value);
      world.play(cancel);
    }
    if (with_losses && random.chance(0.2)) {
      world.lose(jobs[static_cast<std::size_t>(random.integer(0, i))]);
    }
  }
  world.run(1500);
}

TEST(Controller, KeepsEveryPromiseInWorldsWithoutFaults) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ControllerWorld world(2, 4, seed);
    play_random(world, seed, false);
    EXPECT_THAT(world.faults(), testing::IsEmpty()) << "seed " << seed;
    int promised = 0;
    for (const auto& [id, job] : world.controller().jobs()) {
      EXPECT_TRUE(is_over(job.state))
          << "seed " << seed << " job " << id.value << " is " << to_string(job.state);
      if (job.has_promise() && job.state == LiveState::Succeeded) {
        ++promised;
        EXPECT_LE(job.end.at, job.promise.promised)
            << "seed " << seed << " job " << id.value << " late by "
            << to_seconds(job.end.at - job.promise.promised);
      }
    }
    EXPECT_GT(promised, 0) << "seed " << seed;
  }
}

TEST(Controller, LosesNoJobInWorldsWithFaults) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ControllerWorld world(2, 4, seed);
    play_random(world, seed, true);
    EXPECT_THAT(world.faults(), testing::IsEmpty()) << "seed " << seed;
    for (const auto& [id, job] : world.controller().jobs()) {
      EXPECT_TRUE(is_over(job.state))
          << "seed " << seed << " job " << id.value << " is " << to_string(job.state);
    }
  }
}

std::string text_of_effects(const Effects& effects) {
  std::string text = effects.commands;
  for (const AgentOrder& order : effects.orders) {
    text += order.agent + order.message.ShortDebugString();
  }
  for (const wire::EventRecord& event : effects.events) {
    text += event.ShortDebugString();
  }
  return text;
}

TEST(Controller, DoesTheSameAgainFromItsInputs) {
  ControllerWorld world(2, 4, 7);
  play_random(world, 7, true);
  Controller again = Controller::make(world.options()).value();
  for (const PlayedInput& played : world.history()) {
    ASSERT_EQ(text_of_effects(again.on(played.at, played.input)), text_of_effects(played.effects));
  }
}

TEST(Controller, GoesOnFromACheckpointAsIfNothingHadHappened) {
  ControllerWorld world(2, 4, 11);
  play_random(world, 11, true);
  const std::size_t half = world.history().size() / 2;
  Controller first = Controller::make(world.options()).value();
  for (std::size_t i = 0; i < half; ++i) {
    (void)first.on(world.history()[i].at, world.history()[i].input);
  }
  const std::string bytes = first.save();
  Controller second = Controller::load(world.options(), bytes).value();
  EXPECT_EQ(second.save(), bytes);
  for (std::size_t i = half; i < world.history().size(); ++i) {
    const PlayedInput& played = world.history()[i];
    ASSERT_EQ(text_of_effects(second.on(played.at, played.input)), text_of_effects(played.effects))
        << "input " << i;
  }
}

// Steps are slower than declared by half a percent, orders late, and slots handed over later than
// planned; the cluster is full, so that nobody can catch up at others' cost.
TEST(Controller, PromisesAreKeptThoughNothingIsQuiteAsPlanned) {
  int promised = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    ControllerWorld world(2, 4, seed);
    Random random(seed);
    for (int i = 0; i < 25; ++i) {
      const double steps = random.uniform(100, 1500);
      world.submit(steps, random.chance(0.7) ? 5 + steps / 20 * random.uniform(0.5, 3) : 0);
      world.run(random.exponential(5));
    }
    world.run(1500);

    for (const auto& [id, job] : world.controller().jobs()) {
      if (job.has_promise()) {
        ++promised;
        EXPECT_EQ(job.state, LiveState::Succeeded) << "seed " << seed << " job " << id.value;
        EXPECT_LE(job.end.at, job.promise.promised) << "seed " << seed << " job " << id.value;
      }
    }
    EXPECT_THAT(world.faults(), testing::IsEmpty()) << "seed " << seed;
  }
  EXPECT_GT(promised, 300);
}

}  // namespace
}  // namespace rubato
