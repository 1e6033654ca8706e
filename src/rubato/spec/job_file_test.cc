#include "rubato/spec/job_file.h"

#include <fstream>
#include <set>
#include <sstream>

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "rubato/spec/job_fields.h"
#include "rubato/spec/job_schema.h"
#include "rubato/spec/job_values.h"
#include "rubato/spec/validate_spec.h"

namespace rubato {
namespace {

Result<wire::JobSpec> parsed(std::string_view text) {
  return parse_job_file(text, "job.yaml", {.now = parse_rfc3339("2026-07-01T12:00:00Z").value()});
}

std::string problem_of(std::string_view text) {
  const auto spec = parsed(text);
  return spec ? "" : spec.error().message;
}

TEST(JobFile, ReadsEveryField) {
  const auto spec = parsed(R"(# A job.
name: resnet
tenant: vision
command: [python3, train.py, --epochs, 10]
kind: restart
environment: {OMP_NUM_THREADS: 2, EMPTY: ""}
working_directory: runs/first
steps: 12000
deadline: 18:00
class: soft
max_runtime: 12h
model: resnet50
batch: 256
workers: {min: 1, max: 8}
gpu_type: A100
weight: 2.5
speeds: {1: 10, 2: 19.5}
seed: 7
snapshot_steps: 500
restarts_max: 3
)");

  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name(), "resnet");
  EXPECT_EQ(spec->command(3), "10");
  EXPECT_EQ(spec->kind(), "restart");
  EXPECT_EQ(spec->environment().at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(spec->environment().at("EMPTY"), "");
  EXPECT_EQ(spec->steps(), 12000);
  EXPECT_EQ(spec->deadline(), "2026-07-01T18:00:00Z");
  EXPECT_EQ(spec->class_(), "soft");
  EXPECT_EQ(spec->max_runtime(), "12h");
  EXPECT_EQ(spec->workers().min(), 1);
  EXPECT_EQ(spec->workers().max(), 8);
  EXPECT_EQ(spec->speeds(1).steps_per_second(), 19.5);
  EXPECT_EQ(spec->weight(), 2.5);
  EXPECT_EQ(spec->seed(), 7U);
  EXPECT_EQ(spec->snapshot_steps(), 500U);
  EXPECT_EQ(spec->restarts_max(), 3);
}

TEST(JobFile, ReadsJson) {
  const auto spec =
      parsed("{\n\t\"steps\": 5e3,\n\t\"command\": [\"a\"],\n\t\"workers\": [1, 2, 4]\n}");

  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->steps(), 5000);
  EXPECT_EQ(workers_text(spec->workers()), "1,2,4");
}

TEST(JobFile, WorkersHaveShortForms) {
  EXPECT_EQ(workers_text(parsed("workers: 4")->workers()), "4");
  EXPECT_EQ(workers_text(parsed("workers: 2-")->workers()), "2-");
  EXPECT_EQ(workers_text(parsed("workers: 1-8")->workers()), "1-8");
  EXPECT_EQ(workers_text(parsed("workers: {max: 8}")->workers()), "1-8");
  EXPECT_EQ(workers_text(parsed("steps: 1")->workers()), "any");
}

TEST(JobFile, ACommandInOneStringIsCutByShellRules) {
  const auto spec = parsed("command: python3 'my train.py' --lr 0.1");

  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->command_size(), 4);
  EXPECT_EQ(spec->command(1), "my train.py");
  EXPECT_EQ(problem_of("command: train | tee log"),
            "job.yaml:1: command: '|' means something to a shell only: quote it, or write "
            "[sh, -c, \"...\"]");
}

TEST(JobFile, AnUnknownFieldIsNamedWithItsLineAndTheNearestName) {
  EXPECT_EQ(problem_of("steps: 1\ndeadlin: 18:00\n"),
            "job.yaml:2: unknown field 'deadlin'; did you mean 'deadline'?");
  EXPECT_EQ(problem_of("gpus: 4\n"), "job.yaml:1: unknown field 'gpus'; did you mean 'workers'?");
  EXPECT_EQ(problem_of("xyzzyx: 4\n"), "job.yaml:1: unknown field 'xyzzyx'");
}

TEST(JobFile, SaysWhereAValueIsWrong) {
  EXPECT_EQ(problem_of("command: [a]\nsteps: -5\n"),
            "job.yaml:2: steps: found '-5', expected a number greater than 0 and at most 1e+15");
  EXPECT_EQ(problem_of("batch: 2.5"),
            "job.yaml:1: batch: found '2.5', expected a whole number from 1 to 2147483647");
  EXPECT_EQ(problem_of("class: sloo"),
            "job.yaml:1: class: found 'sloo', expected one of slo, soft, best_effort; did you mean "
            "'slo'?");
  EXPECT_EQ(problem_of("workers:\n  min: 1\n  most: 8\n"),
            "job.yaml:3: workers: unknown 'most', expected min and max");
}

TEST(JobFile, RefusesWhatIsNoJob) {
  for (const char* text : {"",
                           "- a\n- b\n",
                           "steps",
                           "steps: 1\nsteps: 2\n",
                           "steps: [1]",
                           "steps:",
                           "a: b: c",
                           "steps: 1\n---\nsteps: 2\n",
                           "{",
                           "workers: [1, x]",
                           "workers: {min: 0}",
                           "workers: []: 1",
                           "speeds: {1: fast}",
                           "speeds: [1]",
                           "environment: [A]",
                           "environment: {A: 1, A: 2}",
                           "environment: {A: [1]}",
                           "command: {a: b}",
                           "command: [[a]]",
                           "deadline: soon",
                           "max_runtime: 5",
                           "workers: 8-1",
                           "? [a]\n: b\n",
                           ",",
                           "{steps: 1} {steps: 2}"}) {
    EXPECT_TRUE(problem_of(text).starts_with("job.yaml:")) << text << " -> " << problem_of(text);
  }
  EXPECT_FALSE(parsed(std::string(kJobFileBytesMax + 1, ' ')));
  EXPECT_FALSE(parsed(std::string(100'000, '[')));
}

RC_GTEST_PROP(JobFile, AnyTextIsAJobOrAnError, (const std::string& text)) {
  const auto spec = parsed(text);
  RC_ASSERT(spec.ok() || !spec.error().message.empty());
}

TEST(JobFields, AreThoseOfTheMessage) {
  const auto* descriptor = wire::JobSpec::descriptor();

  ASSERT_EQ(job_fields().size(), static_cast<std::size_t>(descriptor->field_count()));
  for (int i = 0; i < descriptor->field_count(); ++i) {
    EXPECT_EQ(job_fields()[static_cast<std::size_t>(i)].name, descriptor->field(i)->name());
  }
}

TEST(JobFields, ExamplesAreRead) {
  std::string all;
  for (const JobField& field : job_fields()) {
    const std::string line = std::string(field.name) + ": " + std::string(field.example) + "\n";
    EXPECT_EQ(problem_of(line), "");
    all += line;
  }

  EXPECT_EQ(problem_of(all), "");
}

TEST(JobSchema, HasEveryField) {
  const auto schema = nlohmann::json::parse(job_schema());

  EXPECT_EQ(schema["properties"].size(), job_fields().size());
  for (const JobField& field : job_fields()) {
    ASSERT_TRUE(schema["properties"].contains(field.name)) << field.name;
    EXPECT_TRUE(schema["properties"][std::string(field.name)].contains("description"));
  }
  EXPECT_EQ(schema["properties"]["class"]["enum"][2], "best_effort");
  EXPECT_EQ(schema["additionalProperties"], false);
}

TEST(JobSchema, TheDocumentHasTheTableOfFields) {
  std::ifstream file("docs/job-file.md");
  std::stringstream text;
  text << file.rdbuf();

  EXPECT_NE(text.str().find(job_fields_markdown()), std::string::npos)
      << "docs/job-file.md should contain:\n"
      << job_fields_markdown();
}

TEST(JobSchema, TheDocumentsExamplesAreJobs) {
  std::ifstream file("docs/job-file.md");
  std::string line;
  std::string example;
  bool is_inside = false;
  int found = 0;
  while (std::getline(file, line)) {
    if (is_inside && line == "```") {
      const auto spec = parsed(example);
      EXPECT_TRUE(spec.ok()) << example << (spec ? "" : spec.error().message);
      EXPECT_FALSE(spec && validate_spec(*spec)) << example;
      is_inside = false;
      ++found;
    } else if (is_inside) {
      example += line + "\n";
    } else if (line == "```yaml" || line == "```json") {
      is_inside = true;
      example.clear();
    }
  }
  EXPECT_GE(found, 3);
}

}  // namespace
}  // namespace rubato
