#include "rubato/spec/validate_spec.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "rubato/spec/job_values.h"

namespace rubato {
namespace {

wire::JobSpec sensible() {
  wire::JobSpec spec;
  spec.add_command("python3");
  spec.add_command("train.py");
  spec.set_steps(1000);
  return spec;
}

wire::JobSpec emulated() {
  wire::JobSpec spec = sensible();
  spec.clear_command();
  spec.set_kind("emulated");
  wire::SpeedPoint& point = *spec.add_speeds();
  point.set_workers(1);
  point.set_steps_per_second(10);
  return spec;
}

using Change = std::function<void(wire::JobSpec&)>;

std::string field_to_blame(wire::JobSpec spec, const Change& change) {
  change(spec);
  const auto problem = validate_spec(spec);
  return problem ? problem->field : "";
}

TEST(ValidateSpec, CommandAndStepsAreEnough) {
  EXPECT_FALSE(validate_spec(sensible()));
  EXPECT_FALSE(validate_spec(emulated()));
}

TEST(ValidateSpec, BlamesTheField) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<std::string, Change>> cases = {
      {"command", [](auto& s) { s.clear_command(); }},
      {"command", [](auto& s) { s.set_command(0, ""); }},
      {"command", [](auto& s) { s.set_command(1, std::string("a\0b", 3)); }},
      {"command", [](auto& s) { s.set_command(1, "\xff"); }},
      {"command", [](auto& s) { s.set_command(1, std::string(1 << 20, 'x')); }},
      {"steps", [](auto& s) { s.clear_steps(); }},
      {"steps", [](auto& s) { s.set_steps(-1); }},
      {"steps", [](auto& s) { s.set_steps(std::nan("")); }},
      {"steps", [=](auto& s) { s.set_steps(kInfinity); }},
      {"kind", [](auto& s) { s.set_kind("elastik"); }},
      {"class", [](auto& s) { s.set_class_("gold"); }},
      {"class", [](auto& s) { s.set_class_("slo"); }},
      {"deadline", [](auto& s) { s.set_deadline("18:00"); }},
      {"deadline",
       [](auto& s) {
         s.set_deadline("6h");
         s.set_class_("best_effort");
       }},
      {"max_runtime", [](auto& s) { s.set_max_runtime("6"); }},
      {"batch", [](auto& s) { s.set_batch(-1); }},
      {"weight", [](auto& s) { s.set_weight(-1); }},
      {"restarts_max", [](auto& s) { s.set_restarts_max(-1); }},
      {"workers", [](auto& s) { s.mutable_workers()->set_min(-1); }},
      {"workers",
       [](auto& s) {
         s.mutable_workers()->set_min(4);
         s.mutable_workers()->set_max(2);
       }},
      {"workers",
       [](auto& s) {
         s.mutable_workers()->set_min(4);
         s.mutable_workers()->add_listed(4);
       }},
      {"workers", [](auto& s) { s.mutable_workers()->add_listed(0); }},
      {"workers",
       [](auto& s) {
         s.mutable_workers()->add_listed(2);
         s.mutable_workers()->add_listed(2);
       }},
      {"speeds", [](auto& s) { s.add_speeds()->set_workers(1); }},
      {"environment", [](auto& s) { (*s.mutable_environment())["A=B"] = "x"; }},
      {"environment", [](auto& s) { (*s.mutable_environment())["A"] = std::string("\0", 1); }},
      {"working_directory", [](auto& s) { s.set_working_directory("runs"); }},
      {"name", [](auto& s) { s.set_name("a\nb"); }},
      {"tenant", [](auto& s) { s.set_tenant("../x"); }},
      {"until", [](auto& s) { s.set_until("accuracy"); }},
      {"until", [](auto& s) { s.set_until("acc\n >= 1"); }},
      {"until", [](auto& s) { s.set_until(std::string(10'000, 'a') + " > 1"); }},
  };

  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(field_to_blame(sensible(), cases[i].second), cases[i].first) << "case " << i;
  }
}

TEST(ValidateSpec, AnEmulatedJobNeedsSpeedsAndNoProgram) {
  EXPECT_EQ(field_to_blame(emulated(), [](auto& s) { s.clear_speeds(); }), "speeds");
  EXPECT_EQ(field_to_blame(emulated(), [](auto& s) { s.add_command("a"); }), "command");
  EXPECT_EQ(field_to_blame(emulated(), [](auto& s) { *s.add_speeds() = s.speeds(0); }), "speeds");
  EXPECT_EQ(field_to_blame(emulated(), [](auto& s) { s.set_until("loss < 1"); }), "until");
}

TEST(ValidateSpec, AcceptsDeadlinesThatNeedNoWall) {
  for (const char* deadline : {"6h", "now+6h", "2026-07-01T12:00:00Z"}) {
    EXPECT_EQ(field_to_blame(sensible(), [&](auto& s) { s.set_deadline(deadline); }), "");
  }
}

TEST(ValidateSpec, SuggestsWhatWasMeant) {
  wire::JobSpec spec = sensible();
  spec.set_kind("elastik");

  EXPECT_EQ(to_string(*validate_spec(spec)),
            "kind: found 'elastik', expected one of elastic, restart, emulated; did you mean "
            "'elastic'?");
}

TEST(ValidateSpec, ReadsTheRuleThatEndsAJobEarly) {
  wire::JobSpec spec = sensible();
  spec.set_until("val loss < 20% for 3");
  EXPECT_FALSE(validate_spec(spec));

  spec.set_until("accuracy => 0.9");

  EXPECT_EQ(to_string(*validate_spec(spec)),
            "until: found 'accuracy => 0.9', expected NAME >= NUMBER, such as accuracy >= 0.9; did "
            "you mean 'accuracy >= 0.9'?");
}

}  // namespace
}  // namespace rubato
