#include "rubato/engine/record/journal_speeds.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "rubato/engine/record/journal.h"

namespace rubato {
namespace {

ProfileData strange_data() {
  return {.times = {{.nodes = 2,
                     .gpus = 5,
                     .pattern = {4, 1},
                     .local_batch = 3,
                     .step_seconds = 0.1,
                     .sync_seconds = 1e-9},
                    {.nodes = 3, .gpus = 9, .local_batch = 7, .step_seconds = 1.0 / 3}},
          .epochs = {{8, {{.progress = 1, .steps = 1}, {.progress = 2.5, .steps = 2}}},
                     {16, {{.progress = 0.1, .steps = 1, .noise = {.squared = 1, .variance = 2}}}}},
          .local_max = 5};
}

JournalSpeeds strange_speeds() {
  return {.rows = {{.gpu_type = "a b", .model = "x=y", .batch = 4, .gpus = 2, .speed = 0.1},
                   {.model = "x=y",
                    .gpus = 1,
                    .speed = 7,
                    .provenance = Provenance::Modelled,
                    .span = Locality::Across}},
          .profiles = {{{"net", "T4"}, strange_data()}, {{"net", "A100"}, strange_data()}}};
}

std::string journal(const std::string& lines) { return header_line({.cluster = "1x1"}) + lines; }

std::string opening_error(const std::string& lines) {
  const auto reader = JournalReader::open(journal(lines));
  return reader.ok() ? "no error" : reader.error().message;
}

constexpr const char* kProfile = "profile model=net gpu_type=T4 local_max=0\n";

TEST(JournalSpeeds, ComeBackAsTheyWere) {
  const std::string text = journal(speed_lines(strange_speeds()) + "event 5 tick\n");

  auto reader = JournalReader::open(text).value();

  EXPECT_EQ(reader.speeds().profiles, strange_speeds().profiles);
  EXPECT_EQ(speed_lines(reader.speeds()), speed_lines(strange_speeds()));
  EXPECT_TRUE(reader.next().value().has_value());
}

TEST(JournalSpeeds, MakeABookThatGivesThemBack) {
  const Topology topology = Topology::parse("2x4:T4+2x4:A100").value();

  const SpeedBook book = strange_speeds().book(topology);

  JournalSpeeds sorted = strange_speeds();
  std::swap(sorted.rows[0], sorted.rows[1]);  // A book keeps its rows by model and batch.
  EXPECT_EQ(speed_lines(JournalSpeeds::of(book)), speed_lines(sorted));
}

TEST(JournalSpeeds, OfADamagedJournalAreRefusedWithTheirLine) {
  EXPECT_EQ(opening_error(
                "speed gpu_type= model=m batch=1 gpus=0 speed=1 provenance=measured span=any\n"),
            "journal:2: speed: numbers that cannot have been measured");
  EXPECT_EQ(
      opening_error("time nodes=1 gpus=1 pattern=1 local_batch=1 step_seconds=1 sync_seconds=0\n"),
      "journal:2: time: before any profile");
  EXPECT_EQ(opening_error(kProfile), "journal:2: profile of 'net' on 'T4' has no times");
  EXPECT_EQ(
      opening_error(std::string(kProfile) +
                    "time nodes=1 gpus=1 pattern=2 local_batch=1 step_seconds=1 sync_seconds=0\n"),
      "journal:3: time: numbers that cannot have been measured");
  EXPECT_EQ(opening_error(std::string(kProfile) +
                          "epoch batch=1 progress=0 steps=1 squared=1 variance=1\n"),
            "journal:3: epoch: numbers that cannot have been measured");
  EXPECT_EQ(opening_error("profile model=net\n").substr(0, 10), "journal:2:");
}

}  // namespace
}  // namespace rubato
