#include "rubato/launch/metrics/until_rule.h"

#include <limits>

#include <gtest/gtest.h>

namespace rubato::launch::metrics {
namespace {

std::string problem_of(std::string_view text) {
  const auto rule = parse_until(text);
  return rule ? "none" : rule.error().message;
}

TEST(ParseUntil, ReadsNameSignAndBound) {
  EXPECT_EQ(*parse_until("accuracy >= 0.9"),
            (UntilRule{.name = "accuracy", .comparison = Comparison::AtLeast, .bound = 0.9}));
  EXPECT_EQ(*parse_until(" val loss<2e-1 "),
            (UntilRule{.name = "val_loss", .comparison = Comparison::Below, .bound = 0.2}));
  EXPECT_EQ(parse_until("a > -1")->comparison, Comparison::Above);
  EXPECT_EQ(parse_until("a <= 1")->comparison, Comparison::AtMost);
  EXPECT_EQ(parse_until("top-1 acc >= 90%")->bound, 0.9);
  EXPECT_EQ(parse_until("train/acc@5 >= 0.9")->name, "train/acc@5");
}

TEST(ParseUntil, ReadsPatience) {
  EXPECT_EQ(parse_until("val_loss < 0.2 for 3")->patience, 3);
  EXPECT_EQ(parse_until("val_loss < 0.2")->patience, 1);
}

TEST(ParseUntil, SaysWhatIsWrong) {
  EXPECT_EQ(problem_of(""), "found '', expected NAME >= NUMBER, such as accuracy >= 0.9");
  EXPECT_EQ(problem_of("accuracy"),
            "found 'accuracy', expected NAME >= NUMBER, such as accuracy >= 0.9");
  EXPECT_EQ(problem_of("accuracy >= high"),
            "found 'accuracy >= high', expected a number after >=, such as accuracy >= 0.9");
  EXPECT_EQ(problem_of("accuracy >="),
            "found 'accuracy >=', expected a number after >=, such as accuracy >= 0.9");
  EXPECT_EQ(problem_of("loss < 1 for ever"),
            "found 'loss < 1 for ever', expected nothing after 1, or `for N` for N reports in a "
            "row, from 1 to 1000000");
}

TEST(ParseUntil, RefusesWhatItDoesNotUnderstand) {
  for (const std::string_view text :
       {"accuracy => 0.9", "accuracy == 0.9", "0.9 <= accuracy", "loss < 1 for 0",
        "loss < 1 for 3.5", "loss < 1 for 3 epochs", "a < 1 and b < 2", "loss < nan", "loss < inf",
        "a >> 1", "< 1", "loss < 1 for", "a != 1"}) {
    EXPECT_FALSE(parse_until(text).ok()) << text;
  }
  EXPECT_FALSE(parse_until(std::string(1000, 'a') + " < 1").ok());
}

TEST(NearestUntil, GuessesWhatWasMeant) {
  EXPECT_EQ(nearest_until("accuracy => 0.9"), "accuracy >= 0.9");
  EXPECT_EQ(nearest_until("accuracy == 0.9"), "accuracy >= 0.9");
  EXPECT_EQ(nearest_until("accuracy = 90%"), "accuracy >= 0.9");
  EXPECT_EQ(nearest_until("loss =< 1"), "loss <= 1");
  EXPECT_EQ(nearest_until("loss \u2264 1"), "loss <= 1");
  EXPECT_EQ(nearest_until("0.9 <= accuracy"), "accuracy >= 0.9");
  EXPECT_EQ(nearest_until("accuracy at least 0.9"), "accuracy >= 0.9");
  EXPECT_EQ(nearest_until("loss < 1 fro 3"), "loss < 1 for 3");
  EXPECT_EQ(nearest_until("loss < 1 for 3 epochs"), "loss < 1 for 3");
  EXPECT_EQ(nearest_until("accuracy"), "");
  EXPECT_EQ(nearest_until(""), "");
}

TEST(UntilText, ReadsBackAsTheSameRule) {
  for (const std::string_view text : {"accuracy >= 0.9", "loss < 1e-05 for 3", "a > -1"}) {
    EXPECT_EQ(to_string(*parse_until(text)), text);
  }
}

TEST(UntilWatch, ComesTrueOnceAtTheFirstValueThatIsGoodEnough) {
  UntilWatch watch(*parse_until("accuracy >= 0.9"));

  EXPECT_FALSE(watch.take({.name = "accuracy", .value = 0.89, .step = 10}));
  EXPECT_FALSE(watch.take({.name = "loss", .value = 0.95, .step = 10}));
  const auto reached = watch.take({.name = "Accuracy", .value = 0.9, .step = 20});
  ASSERT_TRUE(reached);
  EXPECT_EQ(reached->step, 20);
  EXPECT_FALSE(watch.take({.name = "accuracy", .value = 0.99, .step = 30}));
}

TEST(UntilWatch, WaitsForReportsInARow) {
  UntilWatch watch(*parse_until("loss < 0.2 for 3"));
  std::vector<bool> reached;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {0.1, 0.1, 0.3, 0.1, nan, 0.1, 0.1, 0.1}) {
    reached.push_back(watch.take({.name = "loss", .value = value, .step = 0}).has_value());
  }

  EXPECT_EQ(reached, (std::vector<bool>{false, false, false, false, false, false, false, true}));
}

TEST(UntilWatch, WarnsOnceOfANameThatNothingHas) {
  UntilWatch watch(*parse_until("accuracy >= 0.9"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(watch.take_warning(), "");
    (void)watch.take({.name = "loss", .value = 0.5});
    (void)watch.take({.name = "acuracy", .value = 0.5});
  }

  EXPECT_EQ(watch.take_warning(),
            "--until accuracy >= 0.9: no metric has that name so far; there is acuracy, loss; did "
            "you mean 'acuracy'?");
  EXPECT_EQ(watch.take_warning(), "");
}

TEST(UntilWatch, DoesNotWarnOfANameThatWasSeen) {
  UntilWatch watch(*parse_until("accuracy >= 0.9"));
  (void)watch.take({.name = "accuracy", .value = 0.5});
  for (int i = 0; i < 100; ++i) {
    (void)watch.take({.name = "loss", .value = 0.5});
  }

  EXPECT_EQ(watch.take_warning(), "");
}

TEST(UntilNote, SaysWhatEndedTheJob) {
  const UntilRule rule = *parse_until("accuracy >= 0.9");

  EXPECT_EQ(until_note(rule, {.value = 0.912, .step = 340}, 2000),
            "ended by --until accuracy >= 0.9 (0.912 at step 340 of at most 2000)");
  EXPECT_EQ(until_note(rule, {.value = 1.0 / 3, .step = 0}, 0),
            "ended by --until accuracy >= 0.9 (0.333333 at step 0)");
}

}  // namespace
}  // namespace rubato::launch::metrics
