#include "rubato/live/service/past.h"

#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/live/controller/controller_world_test.h"
#include "rubato/live/journal/journal_scene_test.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

using testing::HasSubstr;

/// A world that was busy for a while, and the journal it left.
class PastTest : public JournalScene {
 protected:
  void live(int jobs, double seconds_each) {
    for (int i = 0; i < jobs; ++i) {
      world_.submit(600 + 160 * (i % 5), i % 3 == 0 ? 0 : 240 + 20 * i);
      world_.run(seconds_each);
    }
    store_.emplace(opened(world_.options()));
    keep(0, world_.history().size());
  }
  void keep(std::size_t from, std::size_t to) {
    std::vector<JournalItem> items;
    for (std::size_t i = from; i < to; ++i) {
      const PlayedInput& played = world_.history()[i];
      items.push_back(
          {.record = {.at = played.at, .input = played.input, .commands = played.effects.commands},
           .events = played.effects.events});
    }
    ASSERT_TRUE(store_->append(items).ok());
  }
  [[nodiscard]] std::string state_until(Instant moment) const {
    Controller controller = Controller::make(world_.options()).value();
    for (const PlayedInput& played : world_.history()) {
      if (played.at <= moment) {
        (void)controller.on(played.at, played.input);
      }
    }
    return controller.save();
  }

  ControllerWorld world_{2, 4, 7};
  std::optional<JournalStore> store_;
};

TEST_F(PastTest, StandsAtAnyMomentAsTheControllerStood) {
  live(30, 12);
  const auto& inputs = world_.history();
  ASSERT_GT(inputs.size(), 3 * Past::kMarkEveryMin) << "too short to use what is kept on the way";
  Past past(store_->history());

  for (const double part : {0.0, 0.1, 0.45, 0.46, 0.9, 1.0}) {
    const auto index = static_cast<std::size_t>(part * static_cast<double>(inputs.size() - 1));
    const Instant moment = inputs[index].at;
    std::string found;
    Instant first{};
    ASSERT_TRUE(past.look_at(moment,
                             [&](const PastMoment& at) {
                               found = at.controller.save();
                               first = at.first;
                             })
                    .ok());
    EXPECT_EQ(found, state_until(moment)) << part;
    EXPECT_EQ(first, inputs.front().at);
  }
}

TEST_F(PastTest, GoesOnWhereItWas) {
  live(4, 5);
  Past past(store_->history());
  std::uint64_t before = 0;
  const auto sequence = [&](const PastRecord& /*record*/, const PastMoment& at) {
    before = at.sequence;
  };
  ASSERT_TRUE(past.look(sequence).ok());
  const std::size_t kept = world_.history().size();
  EXPECT_EQ(before, kept);

  world_.submit(100, 60);
  world_.run(3);
  keep(kept, world_.history().size());

  ASSERT_TRUE(past.look(sequence).ok());
  EXPECT_EQ(before, world_.history().size());
}

TEST_F(PastTest, NoSlotIsUsedTwiceAndNoUseIsEmpty) {
  live(12, 8);
  Past past(store_->history());
  wire::TimelineReply timeline;

  ASSERT_TRUE(past.look([&](const PastRecord& record, const PastMoment& /*at*/) {
                    timeline = record.timeline({});
                  })
                  .ok());

  ASSERT_GT(timeline.uses_size(), 12);
  ASSERT_GT(timeline.use_size(), 4);
  std::map<std::pair<std::string, int>, std::map<Instant, Instant>> by_slot;
  for (const wire::SlotUse& use : timeline.uses()) {
    const Instant from = *from_timestamp(use.from());
    const Instant to = use.has_to() ? *from_timestamp(use.to()) : kNever;
    EXPECT_LT(from, to);
    const std::pair slot{use.node(), use.index()};
    EXPECT_TRUE(by_slot[slot].emplace(from, to).second);
  }
  for (const auto& [slot, uses] : by_slot) {
    Instant end{};
    for (const auto& [from, to] : uses) {
      EXPECT_LE(end, from) << slot.first << "/" << slot.second;
      end = to;
    }
  }
}

TEST_F(PastTest, ATimelineHasWhatOverlapsItsSpanOnly) {
  live(12, 8);
  Past past(store_->history());
  const Instant from = world_.history()[world_.history().size() / 3].at;
  const Instant to = world_.history()[world_.history().size() / 2].at;

  ASSERT_TRUE(past.look([&](const PastRecord& record, const PastMoment& /*at*/) {
                    const auto part = record.timeline({.from = from, .to = to});
                    const auto all = record.timeline({});
                    EXPECT_GT(part.uses_size(), 0);
                    EXPECT_LT(part.uses_size(), all.uses_size());
                    for (const wire::SlotUse& use : part.uses()) {
                      EXPECT_LT(*from_timestamp(use.from()), to);
                      EXPECT_TRUE(!use.has_to() || *from_timestamp(use.to()) > from);
                    }
                  })
                  .ok());
}

TEST_F(PastTest, DecisionsSayWhatHappenedAndWhatCameOfIt) {
  live(6, 6);
  Past past(store_->history());

  ASSERT_TRUE(past.look([&](const PastRecord& record, const PastMoment& at) {
                    const auto all = record.decisions({}, 10'000);
                    EXPECT_FALSE(all.truncated());
                    EXPECT_EQ(record.decisions({}, 2).decisions_size(), 2);
                    EXPECT_TRUE(record.decisions({}, 2).truncated());
                    bool is_submission_told = false;
                    for (const wire::DecisionRecord& each : all.decisions()) {
                      EXPECT_GT(each.events_size() + each.commands_size(), 0);
                      is_submission_told |= each.input() == "job 2 was submitted by ann" &&
                                            each.events(0).type() == "job.submitted";
                      for (const std::string& command : each.commands()) {
                        EXPECT_THAT(command, Not(HasSubstr("command wake")));
                      }
                    }
                    EXPECT_TRUE(is_submission_told);
                    const auto* last = record.decision_until(at.last);
                    ASSERT_NE(last, nullptr);
                    EXPECT_EQ(last->sequence(), all.decisions(all.decisions_size() - 1).sequence());
                    EXPECT_EQ(record.decision_until(Instant{}), nullptr);
                  })
                  .ok());
}

TEST_F(PastTest, AJobsPointsNeverGoBackAndEndWithTheLastReport) {
  live(3, 20);
  Past past(store_->history());
  double done = 0;
  for (const PlayedInput& played : world_.history()) {
    if (played.input.has_report() && played.input.report().job() == "1") {
      done = played.input.report().done();
    }
  }

  ASSERT_TRUE(past.look([&](const PastRecord& record, const PastMoment& /*at*/) {
                    const auto history = record.job(JobId{1});
                    ASSERT_GT(history.points_size(), 3);
                    ASSERT_GT(history.generations_size(), 0);
                    for (int i = 1; i < history.points_size(); ++i) {
                      EXPECT_GE(history.points(i).done(), history.points(i - 1).done());
                    }
                    EXPECT_DOUBLE_EQ(history.points(history.points_size() - 1).done(), done);
                    EXPECT_EQ(record.job(JobId{99}).points_size(), 0);
                  })
                  .ok());
}

TEST(PastRecord, KeepsAnEndOfEverything) {
  Controller controller = Controller::make(ControllerWorld::options_of(1, 2)).value();
  PastRecord record;
  JournalRecord input;
  for (std::size_t i = 0; i < PastRecord::kDecisionsKept + 10; ++i) {
    input.sequence = i + 1;
    input.at += std::chrono::seconds(1);
    input.input.mutable_report()->set_job("1");
    input.input.mutable_report()->set_done(static_cast<double>(i));
    Effects effects;
    effects.events.emplace_back().set_type("alarm");
    record.note(input, effects, controller);
  }

  const auto list = record.decisions({}, 1'000'000);
  EXPECT_EQ(list.decisions_size(), static_cast<int>(PastRecord::kDecisionsKept));
  EXPECT_TRUE(list.truncated());
  const auto job = record.job(JobId{1});
  EXPECT_LE(job.points_size(), static_cast<int>(PastRecord::kPointsKept));
  EXPECT_EQ(job.points(job.points_size() - 1).done(), PastRecord::kDecisionsKept + 9);
}

}  // namespace
}  // namespace rubato
