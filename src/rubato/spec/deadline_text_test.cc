#include "rubato/spec/deadline_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/spec/duration_text.h"

namespace rubato {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

Instant utc(std::string_view text) { return parse_rfc3339(text).value(); }

// Central Europe: an hour ahead, in summer two; the clocks changed at these moments of 2026.
Duration central_europe(Instant moment) {
  const bool is_summer =
      moment >= utc("2026-03-29T01:00:00Z") && moment < utc("2026-10-25T01:00:00Z");
  return hours(is_summer ? 2 : 1);
}

std::string resolved(std::string_view text, std::string_view now) {
  const auto moment = resolve_deadline(text, {.now = utc(now), .zone = central_europe});
  return moment ? rfc3339_text(*moment) : "error: " + moment.error().message;
}

TEST(DeadlineText, AClockTimeIsTheNextOne) {
  EXPECT_EQ(resolved("18:00", "2026-07-01T15:59:59Z"), "2026-07-01T16:00:00Z");
  EXPECT_EQ(resolved("18:00", "2026-07-01T16:00:00Z"), "2026-07-02T16:00:00Z");
  EXPECT_EQ(resolved("9:30", "2026-01-01T12:00:00Z"), "2026-01-02T08:30:00Z");
  // Already tomorrow on the wall, still today in UTC.
  EXPECT_EQ(resolved("00:30", "2026-07-01T22:15:00Z"), "2026-07-01T22:30:00Z");
}

TEST(DeadlineText, ADayOfTheWeekIsTheNextOne) {
  EXPECT_EQ(resolved("Sat 02:00", "2026-07-01T12:00:00Z"), "2026-07-04T00:00:00Z");
  EXPECT_EQ(resolved("saturday 02:00", "2026-07-04T00:00:00Z"), "2026-07-11T00:00:00Z");
}

TEST(DeadlineText, ClocksThatChangeAreMinded) {
  EXPECT_EQ(resolved("18:00", "2026-03-28T20:00:00Z"), "2026-03-29T16:00:00Z");
  // Skipped: 02:30 does not exist in that night.
  EXPECT_EQ(resolved("02:30", "2026-03-28T20:00:00Z"), "2026-03-29T01:30:00Z");
  // Comes twice: the first is meant.
  EXPECT_EQ(resolved("02:30", "2026-10-24T20:00:00Z"), "2026-10-25T00:30:00Z");
}

TEST(DeadlineText, SpansCountFromNow) {
  EXPECT_EQ(resolved("6h", "2026-07-01T12:00:00Z"), "2026-07-01T18:00:00Z");
  EXPECT_EQ(resolved("now+90s", "2026-07-01T12:00:00.5Z"), "2026-07-01T12:01:30.500000Z");
}

TEST(DeadlineText, ReadsRfc3339) {
  EXPECT_EQ(resolved("2026-07-01T18:00:00+02:00", "2026-07-01T12:00:00Z"), "2026-07-01T16:00:00Z");
  EXPECT_EQ(rfc3339_text(utc("2026-07-01t18:00:00.25z")), "2026-07-01T18:00:00.250000Z");
  EXPECT_EQ(rfc3339_text(utc("2026-07-01 18:00:00-00:30")), "2026-07-01T18:30:00Z");
}

TEST(DeadlineText, RefusesWhatIsNoMoment) {
  for (const char* text :
       {"", "18", "24:00", "18:60", "tomorrow", "2026-02-30T00:00:00Z", "2026-07-01T18:00:00",
        "2026-07-01", "now", "now+", "-6h", "0s", "6", "Xyz 02:00", "2026-07-01T18:00:00.Z", "1:5",
        "18:00:00", "2026-07-01T18:00:00+2:00"}) {
    EXPECT_TRUE(resolved(text, "2026-07-01T12:00:00Z").starts_with("error: found '")) << text;
  }
}

RC_GTEST_PROP(DeadlineText, ReadsBackWhatItWrites, ()) {
  const Instant moment{Duration{*rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000'000)}};

  RC_ASSERT(parse_rfc3339(rfc3339_text(moment)).value() == moment);
}

RC_GTEST_PROP(DeadlineText, AClockTimeIsAheadAndShownOnTheWall, ()) {
  const Instant now = utc("2026-01-01T00:00:00Z") + minutes(*rc::gen::inRange(0, 500'000));
  const int minute = *rc::gen::inRange(0, 24 * 60);
  const bool is_skipped_or_double = minute >= 120 && minute < 180;
  RC_PRE(!is_skipped_or_double);

  const std::string text = std::to_string(minute / 60 + 100).substr(1) + ":" +
                           std::to_string(minute % 60 + 100).substr(1);
  const Instant moment = resolve_deadline(text, {.now = now, .zone = central_europe}).value();

  RC_ASSERT(moment > now);
  RC_ASSERT(moment <= now + hours(25));
  const Duration local = moment.time_since_epoch() + central_europe(moment);
  RC_ASSERT(local % hours(24) == Duration(minutes(minute)));
}

TEST(DurationText, ReadsUnitsInTurn) {
  EXPECT_EQ(parse_duration("90s").value(), std::chrono::seconds(90));
  EXPECT_EQ(parse_duration("1h30m").value(), minutes(90));
  EXPECT_EQ(parse_duration("1.5h").value(), minutes(90));
  EXPECT_EQ(parse_duration("2d").value(), hours(48));
}

TEST(DurationText, RefusesWhatIsNoLength) {
  for (const char* text :
       {"", "6", "h", "6 h", "-1s", "0s", "1y", "11000d", "1h30", "nans", "1..5h"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(DurationText, WritesWhatItReads) {
  EXPECT_EQ(duration_text(minutes(90)), "1h30m");
  EXPECT_EQ(duration_text(hours(48) + std::chrono::seconds(5)), "2d5s");
  EXPECT_EQ(duration_text(Duration{0}), "0s");
}

}  // namespace
}  // namespace rubato
