#include "rubato/live/rest/message_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/wire/platform.pb.h"

namespace rubato {
namespace {

using testing::HasSubstr;

Refusal refusal_for(std::string_view text) {
  wire::JobSpec spec;
  const auto refusal = from_json(text, spec);
  EXPECT_TRUE(refusal.has_value()) << text;
  return refusal.value_or(Refusal{});
}

TEST(MessageJson, ReadsWhatItWrites) {
  wire::JobSpec spec;
  spec.set_name("caf\xc3\xa9 \"1\"");
  spec.add_command("python");
  spec.add_command("train.py");
  (*spec.mutable_environment())["A"] = "1";
  spec.mutable_workers()->set_min(2);
  spec.set_steps(0.1);
  auto* const point = spec.add_speeds();
  point->set_workers(4);
  point->set_steps_per_second(3.5);

  const auto text = to_json(spec);
  wire::JobSpec again;

  ASSERT_TRUE(text.ok());
  EXPECT_FALSE(from_json(*text, again).has_value());
  EXPECT_EQ(again.SerializeAsString(), spec.SerializeAsString());
}

TEST(MessageJson, WritesTheNamesOfTheMessagesAndEmptyFields) {
  wire::JobStatus status;
  status.set_order(7);
  status.mutable_started()->set_seconds(5);

  const auto text = to_json(status);

  EXPECT_THAT(*text, HasSubstr(R"("steps_per_second":0,)"));
  EXPECT_THAT(*text, HasSubstr(R"("slots":[])"));
  EXPECT_THAT(*text, HasSubstr(R"("order":"7")"));
  EXPECT_THAT(*text, HasSubstr(R"("started":"1970-01-01T00:00:05Z")"));
  EXPECT_THAT(*text, Not(HasSubstr("finished")));
}

TEST(MessageJson, AMomentOutsideTheCalendarIsAnError) {
  wire::JobStatus status;
  status.mutable_started()->set_seconds(std::int64_t{1} << 60);

  EXPECT_FALSE(to_json(status).ok());
}

TEST(MessageJson, TakesNamesInEitherSpellingNumbersAsTextAndNull) {
  wire::JobSpec spec;

  EXPECT_FALSE(from_json(R"({"gpuType":"a","max_runtime":"1h","steps":"1e3","seed":null})", spec));

  EXPECT_EQ(spec.gpu_type(), "a");
  EXPECT_EQ(spec.steps(), 1000);
}

TEST(MessageJson, AnUnknownFieldIsNamedWithThePathAndTheNearestName) {
  const Refusal top = refusal_for(R"({"step":1})");
  EXPECT_EQ(top.field, "step");
  EXPECT_EQ(top.suggestion, "steps");
  EXPECT_EQ(top.message, "step: unknown field; did you mean 'steps'?");

  const Refusal nested = refusal_for(R"({"speeds":[{"workers":1},{"worker":1}]})");
  EXPECT_EQ(nested.field, "speeds[1].worker");
  EXPECT_EQ(nested.suggestion, "workers");

  EXPECT_EQ(refusal_for(R"({"qqqqqqqqqqqq":1})").suggestion, "");
}

TEST(MessageJson, ASyntaxErrorHasLineAndColumn) {
  EXPECT_THAT(refusal_for("{\n  \"steps\": ,\n}").message, HasSubstr("line 2, column 12: "));
  EXPECT_THAT(refusal_for("").message, HasSubstr("line 1, column 1: "));
  EXPECT_THAT(refusal_for("{} x").message, HasSubstr("line 1, column 4: "));
  EXPECT_THAT(refusal_for("{\"name\":\"\xff\"}").message, HasSubstr("line 1, column 10: "));
  EXPECT_THAT(refusal_for(R"({"name":"\ud800"})").message, HasSubstr("line 1, "));
}

TEST(MessageJson, RefusesValuesOfAnotherType) {
  EXPECT_EQ(refusal_for("[]").message, "expected an object, found array");
  EXPECT_EQ(refusal_for(R"({"command":"x"})").message, "command: expected a list, found string");
  EXPECT_EQ(refusal_for(R"({"command":["x",null]})").message,
            "command[1]: expected a text, found null");
  EXPECT_EQ(refusal_for(R"({"environment":{"A":1}})").message,
            "environment.A: expected a text, found number");
  EXPECT_EQ(refusal_for(R"({"environment":[]})").message,
            "environment: expected an object, found array");
  EXPECT_EQ(refusal_for(R"({"workers":3})").message, "workers: expected an object, found number");
  EXPECT_EQ(refusal_for(R"({"steps":"NaN"})").message, "steps: expected a number, found string");
  EXPECT_EQ(refusal_for(R"({"name":7})").field, "name");
}

TEST(MessageJson, RefusesNumbersOutOfRange) {
  EXPECT_EQ(refusal_for(R"({"workers":{"min":1.5}})").field, "workers.min");
  EXPECT_EQ(refusal_for(R"({"seed":-1})").field, "seed");
  EXPECT_EQ(refusal_for(R"({"seed":99999999999})").field, "seed");
  EXPECT_FALSE(refusal_for(R"({"steps":1e400})").message.empty());
}

TEST(MessageJson, RefusesANameGivenTwice) {
  EXPECT_EQ(refusal_for(R"({"name":"a","steps":1,"name":"b"})").field, "name");
  EXPECT_EQ(refusal_for(R"({"workers":{"min":1,"min":2}})").field, "min");
}

TEST(MessageJson, RefusesAMomentThatIsNone) {
  wire::NodeRequest request;

  const auto refusal = from_json(R"({"maintenance":{"from":"yesterday"}})", request);

  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->field, "maintenance.from");
}

TEST(MessageJson, DeepNestingIsRefusedNotFollowed) {
  EXPECT_FALSE(refusal_for(std::string(200000, '[')).message.empty());
  EXPECT_FALSE(refusal_for("{\"name\":" + std::string(200000, '[') + std::string(200000, ']') + "}")
                   .message.empty());
}

}  // namespace
}  // namespace rubato
