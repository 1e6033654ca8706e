#include "rubato/live/agent/agent_book.h"

#include <gmock/gmock.h>

namespace rubato {
namespace {

// Words for what must be done, such as `keep 2`, `start`, `tell 2`, `say ended lost`.
std::string word_of(const AgentAction& action) {
  if (const auto* kept = std::get_if<KeepConductOrder>(&action)) {
    return "keep " + std::to_string(kept->order.run().order());
  }
  if (const auto* end = std::get_if<KeepJobEnd>(&action)) {
    return "keep " + end->ended.outcome();
  }
  if (std::get_if<StartConduct>(&action) != nullptr) {
    return "start";
  }
  if (const auto* told = std::get_if<TellConduct>(&action)) {
    return told->message.has_stop() ? "tell stop"
                                    : "tell " + std::to_string(told->message.run().run().order());
  }
  if (const auto* forgotten = std::get_if<ForgetJob>(&action)) {
    return forgotten->keeps_state ? "forget but keep" : "forget";
  }
  if (const auto* metrics = std::get_if<TellMetrics>(&action)) {
    return "metrics " + metrics->job;
  }
  const wire::FromAgent& said = std::get<TellController>(action).message;
  if (said.has_ended()) {
    return "say " + said.ended().outcome() + " " + std::to_string(said.ended().order());
  }
  return said.has_hello()     ? "say hello"
         : said.has_held()    ? "say held"
         : said.has_metrics() ? "say metrics"
                              : "say report";
}

std::vector<std::string> words(const AgentActions& actions) {
  std::vector<std::string> list;
  for (const AgentAction& action : actions) {
    list.push_back(word_of(action));
  }
  return list;
}

using testing::ElementsAre;

class AgentBookTest : public testing::Test {
 protected:
  static wire::AgentNode node(const std::string& name, int slots, bool has_devices) {
    wire::AgentNode made;
    made.set_name(name);
    for (int i = 0; i < slots; ++i) {
      made.add_slots()->set_index(i);
      made.mutable_slots(i)->set_device(has_devices ? std::to_string(10 + i) : "");
    }
    return made;
  }
  static AgentOffer offer() {
    wire::AgentNode pretended = node("pretended", 2, false);
    pretended.set_emulated(true);
    return {.name = "here",
            .nodes = {node("gpus", 2, true), node("cpus", 4, false), pretended},
            .cpus = 8};
  }
  static wire::ToAgent order(std::uint64_t number, int slots, const std::string& where = "cpus") {
    wire::ToAgent message;
    message.mutable_run()->set_job("7");
    message.mutable_run()->set_order(number);
    for (int i = 0; i < slots; ++i) {
      message.mutable_run()->add_slots()->set_node(where);
      message.mutable_run()->mutable_slots(i)->set_index(i);
    }
    return message;
  }
  static wire::ToAgent stop(std::uint64_t number) {
    wire::ToAgent message;
    message.mutable_stop()->set_job("7");
    message.mutable_stop()->set_order(number);
    return message;
  }
  static wire::ToAgent forget() {
    wire::ToAgent message;
    message.mutable_forget()->set_job("7");
    return message;
  }
  static wire::JobEnded ended(const std::string& outcome, std::uint64_t number) {
    wire::JobEnded made;
    made.set_job("7");
    made.set_outcome(outcome);
    made.set_order(number);
    made.set_done(40);
    return made;
  }

  AgentBook book_{offer()};
};

TEST_F(AgentBookTest, WritesAnOrderDownBeforeItIsObeyed) {
  EXPECT_THAT(words(book_.take(order(1, 2))), ElementsAre("keep 1", "start"));
  EXPECT_THAT(words(book_.take(order(2, 3))), ElementsAre("keep 2", "tell 2"));
}

TEST_F(AgentBookTest, KnowsTheDevicesAndCpusOfSlots) {
  const AgentActions actions = book_.take(order(1, 2, "gpus"));

  const auto& kept = std::get<KeepConductOrder>(actions.front()).order;
  EXPECT_THAT(kept.devices(), ElementsAre("10", "11"));
  EXPECT_EQ(kept.threads(), 4);
  EXPECT_FALSE(kept.emulated());
}

TEST_F(AgentBookTest, SaysThatTheNodesOfAnOrderArePretended) {
  wire::ToAgent message = order(1, 2, "pretended");
  message.mutable_run()->mutable_spec()->set_kind("emulated");

  const AgentActions actions = book_.take(message);

  EXPECT_TRUE(std::get<KeepConductOrder>(actions.front()).order.emulated());
}

TEST_F(AgentBookTest, LetsJobsKeepTheirProcessesOnlyIfNoOtherAgentCouldGetThem) {
  AgentOffer only = offer();
  only.is_alone = true;
  AgentBook alone(only);

  const AgentActions here = alone.take(order(1, 2));
  const AgentActions among_others = book_.take(order(1, 2));

  EXPECT_TRUE(std::get<KeepConductOrder>(here.front()).order.may_park());
  EXPECT_FALSE(std::get<KeepConductOrder>(among_others.front()).order.may_park());
}

TEST_F(AgentBookTest, IgnoresOldNumbers) {
  EXPECT_TRUE(book_.take(order(0, 1)).empty());
  EXPECT_TRUE(book_.take(stop(0)).empty());
  [[maybe_unused]] auto ignored = book_.take(order(5, 2));

  EXPECT_TRUE(book_.take(order(5, 3)).empty());
  EXPECT_TRUE(book_.take(order(4, 0)).empty());
  EXPECT_TRUE(book_.take(stop(5)).empty());
}

TEST_F(AgentBookTest, RefusesSlotsThatItHasNot) {
  EXPECT_THAT(words(book_.take(order(1, 1, "elsewhere"))), ElementsAre("say refused 1"));
  EXPECT_THAT(words(book_.take(order(2, 3, "gpus"))), ElementsAre("say refused 2"));
  EXPECT_THAT(words(book_.take(order(3, 1, "pretended"))), ElementsAre("say refused 3"))
      << "the job is real, the node is not";
  EXPECT_THAT(words(book_.take(order(4, 1))), ElementsAre("keep 4", "start"));
}

TEST_F(AgentBookTest, TellsAProcessAllAgainWhenItCanBeReached) {
  [[maybe_unused]] auto ignored = book_.take(order(1, 2));
  ignored = book_.take(order(2, 1));
  ignored = book_.take(stop(3));

  EXPECT_THAT(words(book_.on_connected("7")), ElementsAre("tell 2", "tell stop"));
}

TEST_F(AgentBookTest, RepeatsAnEndUntilItIsForgotten) {
  [[maybe_unused]] auto ignored = book_.take(order(1, 2));

  EXPECT_THAT(words(book_.on_ended(ended("finished", 1))), ElementsAre("say finished 1"));
  EXPECT_THAT(words(book_.resend()), ElementsAre("say finished 1"));
  EXPECT_THAT(words(book_.take(order(2, 2))), ElementsAre("say finished 1")) << "it crossed";
  EXPECT_THAT(words(book_.take(forget())), ElementsAre("forget"));
  EXPECT_TRUE(book_.resend().empty());
  EXPECT_TRUE(book_.take(forget()).empty());
}

TEST_F(AgentBookTest, GoesOnWithASuspendedJob) {
  [[maybe_unused]] auto ignored = book_.take(order(1, 2));
  EXPECT_THAT(words(book_.take(order(2, 0))), ElementsAre("keep 2", "tell 2"));
  EXPECT_THAT(words(book_.on_ended(ended("suspended", 2))), ElementsAre("say suspended 2"));
  EXPECT_THAT(words(book_.take(forget())), ElementsAre("forget but keep"));

  EXPECT_THAT(words(book_.take(order(2, 1))), ElementsAre());
  EXPECT_THAT(words(book_.take(order(3, 1))), ElementsAre("keep 3", "start"));
}

TEST_F(AgentBookTest, AJobCalledBackWhileItWasSuspendedBeginsAgain) {
  [[maybe_unused]] auto ignored = book_.take(order(1, 2));
  ignored = book_.take(order(2, 0));
  ignored = book_.take(order(3, 1));

  EXPECT_THAT(words(book_.on_ended(ended("suspended", 2))), ElementsAre("start"));
  EXPECT_TRUE(book_.is_running("7"));
}

TEST_F(AgentBookTest, SuspendsWhatDoesNotRunAtOnce) {
  EXPECT_THAT(words(book_.take(order(1, 0))), ElementsAre("say suspended 1"));
}

TEST_F(AgentBookTest, CancelsWhatDoesNotRunAtOnce) {
  [[maybe_unused]] auto ignored = book_.take(order(1, 2));
  ignored = book_.on_ended(ended("lost", 1));

  EXPECT_THAT(words(book_.take(stop(2))), ElementsAre("keep cancelled", "say cancelled 2"));
  EXPECT_THAT(words(book_.take(forget())), ElementsAre("forget"));
}

TEST_F(AgentBookTest, AJobThatIsGoneBeforeItIsStoppedIsCancelled) {
  [[maybe_unused]] auto ignored = book_.take(order(1, 2));
  ignored = book_.take(stop(2));

  EXPECT_THAT(words(book_.on_ended(ended("lost", 1))),
              ElementsAre("keep cancelled", "say cancelled 2"));
}

TEST_F(AgentBookTest, TellsANewControllerAll) {
  [[maybe_unused]] auto ignored = book_.take(order(1, 2));
  wire::FromAgent held;
  held.mutable_held()->set_job("7");
  held.mutable_held()->set_order(1);
  *held.mutable_held()->mutable_slots() = order(1, 2).run().slots();
  EXPECT_THAT(words(book_.on_word("7", held)), ElementsAre("say held"));
  ignored = book_.take(order(2, 1));

  const AgentActions actions = book_.hello();

  EXPECT_THAT(words(actions), ElementsAre("say hello", "say held", "metrics 7"));
  const auto& hello = std::get<TellController>(actions.front()).message.hello();
  EXPECT_EQ(hello.nodes_size(), 3);
  ASSERT_EQ(hello.jobs_size(), 1);
  EXPECT_EQ(hello.jobs(0).order(), 2U);
  EXPECT_EQ(hello.jobs(0).slots_size(), 2) << "it may not have given the second back yet";
}

TEST_F(AgentBookTest, PassesMetricsOnOfJobsThatRun) {
  wire::FromAgent metrics;
  metrics.mutable_metrics()->set_job("7");
  EXPECT_TRUE(book_.on_word("7", metrics).empty());

  AgentActions ignored = book_.take(order(1, 1));

  EXPECT_THAT(words(book_.on_word("7", metrics)), ElementsAre("say metrics"));
}

TEST_F(AgentBookTest, FindsJobsOfTheAgentBefore) {
  wire::ConductOrder running;
  *running.mutable_run() = order(4, 1).run();
  book_.find_running(running);
  wire::ConductOrder over = running;
  over.mutable_run()->set_job("8");
  wire::JobEnded lost = ended("lost", 4);
  lost.set_job("8");
  book_.find_ended(over, lost, false);

  EXPECT_THAT(words(book_.hello()),
              ElementsAre("say hello", "metrics 7", "metrics 8", "say lost 4"));
  EXPECT_TRUE(book_.take(order(4, 2)).empty());
}

}  // namespace
}  // namespace rubato
