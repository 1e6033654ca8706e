#include "rubato/trace/generate/generator.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/trace/write/rubato_writer.h"

namespace rubato {
namespace {

std::vector<Job> generate(const GeneratorOptions& options) {
  auto generator = Generator::make(options);
  EXPECT_TRUE(generator.ok());
  std::vector<Job> jobs;
  while (auto job = generator->next()) {
    jobs.push_back(std::move(*job));
  }
  return jobs;
}

std::string problem(const GeneratorOptions& options) {
  const auto generator = Generator::make(options);
  return generator ? "" : generator.error().message;
}

// A changed line here means that everybody's seeds now give other traces.
TEST(Generator, ASeedAlwaysGivesTheSameJobs) {
  std::string text;
  for (const Job& job : generate({.jobs = 3, .seed = 42, .best_effort = 0.3, .tenants = 3})) {
    text += rubato_job_line(job);
  }

  EXPECT_EQ(text, R"({"id":0,"name":"job-0","tenant":"tenant-1","class":"slo","arrival":314,)"
                  R"("deadline":274496,"work":0,"model":"gpt2","batch":256,"requested":1,)"
                  R"("duration":469609})"
                  "\n"
                  R"({"id":1,"name":"job-1","tenant":"tenant-2","class":"slo","arrival":863,)"
                  R"("deadline":6125,"work":0,"model":"resnet50","batch":256,"requested":4,)"
                  R"("duration":4619})"
                  "\n"
                  R"({"id":2,"name":"job-2","tenant":"tenant-2","class":"slo","arrival":2252,)"
                  R"("deadline":5770,"work":0,"model":"bert","batch":64,"requested":1,)"
                  R"("duration":5242})"
                  "\n");
}

TEST(Generator, OneOptionMovesOnlyWhatItIsAbout) {
  const std::vector<Job> strict = generate({.jobs = 500, .seed = 3});
  const std::vector<Job> mixed = generate({.jobs = 500, .seed = 3, .best_effort = 0.5});

  for (std::size_t i = 0; i < strict.size(); ++i) {
    EXPECT_EQ(strict[i].arrival, mixed[i].arrival);
    EXPECT_EQ(strict[i].requested, mixed[i].requested);
    EXPECT_EQ(strict[i].duration, mixed[i].duration);
    EXPECT_EQ(strict[i].model, mixed[i].model);
  }
}

TEST(Generator, MeetsTheLoadItIsAskedFor) {
  for (const Profile& profile : generator_profiles()) {
    const std::vector<Job> jobs = generate({.jobs = 100'000,
                                            .seed = 5,
                                            .cluster_gpus = 256,
                                            .load = 0.7,
                                            .profile = std::string(profile.name)});
    double gpu_seconds = 0;
    for (const Job& job : jobs) {
      gpu_seconds += job.requested * to_seconds(job.duration);
    }
    const double load = gpu_seconds / (256 * to_seconds(jobs.back().arrival));

    EXPECT_NEAR(load, 0.7, 0.07) << profile.name;
  }
}

TEST(Generator, FollowsTheElasticFlowProfile) {
  const std::vector<Job> jobs = generate({.jobs = 50'000, .seed = 9});
  int single = 0;
  int within = 0;
  for (const Job& job : jobs) {
    single += job.requested == 1 ? 1 : 0;
    within += to_seconds(job.duration) <= 18974 ? 1 : 0;
    EXPECT_GE(to_seconds(job.duration), 600);
    EXPECT_LE(to_seconds(job.duration), 600'000);
    const double slack = to_seconds(job.deadline - job.arrival) / to_seconds(job.duration);
    EXPECT_GE(slack, 0.499);
    EXPECT_LE(slack, 1.501);
  }

  EXPECT_NEAR(single / 50'000.0, 0.83, 0.01);
  EXPECT_NEAR(within / 50'000.0, 0.8, 0.01);
}

TEST(Generator, MixesClassesAndTenants) {
  int best_effort = 0;
  int soft = 0;
  int busiest = 0;
  for (const Job& job :
       generate({.jobs = 20'000, .best_effort = 0.25, .soft = 0.5, .tenants = 2})) {
    best_effort += job.job_class == JobClass::BestEffort ? 1 : 0;
    soft += job.job_class == JobClass::Soft ? 1 : 0;
    busiest += job.tenant == "tenant-1" ? 1 : 0;
    EXPECT_EQ(job.has_deadline(), job.job_class != JobClass::BestEffort);
  }

  EXPECT_NEAR(best_effort / 20'000.0, 0.25, 0.015);
  EXPECT_NEAR(soft / 20'000.0, 0.5, 0.015);
  EXPECT_NEAR(busiest / 20'000.0, 2.0 / 3, 0.015);
}

TEST(Generator, WorkIsTheDurationTimesTheSpeedAtTheRequestedCount) {
  GeneratorOptions options{.jobs = 2000, .models = {{"small", 4}, {"large", 64}}};
  options.speed = [](const ModelChoice& choice, int gpus) {
    return choice.model == "small" ? 2.0 * gpus : 0.5 * gpus;
  };

  for (const Job& job : generate(options)) {
    const double speed = (job.model == "small" ? 2.0 : 0.5) * job.requested;
    EXPECT_DOUBLE_EQ(job.work, std::floor(speed * to_seconds(job.duration)));
    EXPECT_GE(job.batch, job.requested) << "every worker gets at least one sample";
  }
}

TEST(Generator, WithoutSpeedsThereIsNoWork) {
  for (const Job& job : generate({.jobs = 10})) {
    EXPECT_DOUBLE_EQ(job.work, 0);
    EXPECT_GT(job.duration, Duration{0});
  }
}

TEST(Generator, NoJobIsWiderThanTheClusterOrItsModels) {
  GeneratorOptions options{.jobs = 2000, .cluster_gpus = 12, .models = {{"m", 64}}};
  for (const Job& job : generate(options)) {
    EXPECT_LE(job.requested, 8);
  }
  options.speed = [](const ModelChoice&, int gpus) { return gpus <= 2 ? 1.0 : 0.0; };
  for (const Job& job : generate(options)) {
    EXPECT_LE(job.requested, 2);
  }
}

TEST(Generator, ExplainsOptionsThatCannotBe) {
  EXPECT_EQ(problem({.jobs = 0}), "jobs: found 0, expected 1 to 1000000000");
  EXPECT_EQ(problem({.cluster_gpus = 0}), "cluster: found 0 GPUs, expected 1 to 1048576");
  EXPECT_EQ(problem({.load = 0}), "load: found 0, expected more than 0 and at most 100");
  EXPECT_EQ(problem({.profile = "phily"}),
            "profile: found 'phily', expected one of elasticflow, philly, helios, pai; did you "
            "mean 'philly'?");
  EXPECT_EQ(problem({.best_effort = 0.6, .soft = 0.6}),
            "best-effort and soft: found 0.6 and 0.6, expected shares that add up to at most 1");
  EXPECT_EQ(problem({.tightness_min = 2}),
            "tightness: found 2 to 1.5, expected a range within 0 "
            "to 1000");
  EXPECT_EQ(problem({.tenants = 0}), "tenants: found 0, expected 1 to 10000");
  EXPECT_EQ(problem({.jobs = 1'000'000'000, .cluster_gpus = 1}).substr(0, 38),
            "jobs: 1000000000 of them would arrive ");
  GeneratorOptions options{.models = {{"m", 8}}};
  options.speed = [](const ModelChoice&, int) { return 0.0; };
  EXPECT_EQ(problem(options), "models: none can run on a single GPU");
}

}  // namespace
}  // namespace rubato
