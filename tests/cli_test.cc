// The program as scripts see it: exit codes, JSON names, files that appear whole or not at all.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/report/html_page.h"
#include "rubato/report/markup_test.h"

namespace rubato {
namespace {

using Json = nlohmann::json;

struct ProgramOutcome {
  int code = -1;
  std::string out{};
};

/// A folder of its own for each test, gone afterwards.
class Program : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::to_string(getpid()) + "-" + info->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static ProgramOutcome run(const std::string& arguments) {
    const char* binary = std::getenv("RUBATO_BINARY");
    EXPECT_NE(binary, nullptr);
    ProgramOutcome outcome;
    const std::string command = std::string(binary == nullptr ? "false" : binary) + " " + arguments;
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    std::array<char, 4096> buffer{};
    for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      outcome.out.append(buffer.data(), got);
    }
    outcome.code = WEXITSTATUS(pclose(pipe));
    return outcome;
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  static std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  [[nodiscard]] std::string generated(int jobs) const {
    const std::string file = path("made.jsonl");
    EXPECT_EQ(run("trace generate --jobs " + std::to_string(jobs) +
                  " --seed 5 --cluster 4x8 --load 0.8 -o " + file)
                  .code,
              0);
    return file;
  }

  std::filesystem::path folder_;
};

constexpr const char* kHeader =
    "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration\n";

TEST_F(Program, PrintsTheFixedJsonNames) {
  const std::string trace = generated(60);

  const ProgramOutcome outcome = run("sim --trace " + trace + " --cluster 4x8 --json --policy " +
                                     "elasticflow,tiresias:thresholds=3250/7200");

  ASSERT_EQ(outcome.code, 0) << outcome.out;
  const Json report = Json::parse(outcome.out);
  for (const char* name : {"version", "trace", "cluster", "seed", "results"}) {
    EXPECT_TRUE(report.contains(name)) << name;
  }
  ASSERT_EQ(report["results"].size(), 2U);
  EXPECT_EQ(report["results"][1]["policy"], "tiresias:thresholds=3250/7200");
  for (const char* name : {"policy",
                           "jobs",
                           "admitted",
                           "refused",
                           "finished",
                           "deadline_jobs",
                           "deadline_met",
                           "deadline_met_ratio",
                           "deadline_upper_bound",
                           "promises_broken",
                           "jct_avg_seconds",
                           "jct_p50_seconds",
                           "jct_p99_seconds",
                           "makespan_seconds",
                           "gpu_utilization",
                           "cluster_efficiency",
                           "finish_time_fairness_max",
                           "total_value",
                           "resizes",
                           "migrations",
                           "decisions",
                           "decision_p50_seconds",
                           "decision_p99_seconds",
                           "decision_max_seconds",
                           "wall_seconds",
                           "peak_rss_bytes"}) {
    EXPECT_TRUE(report["results"][0].contains(name)) << name;
  }
  EXPECT_EQ(report["results"][0]["promises_broken"], 0);
}

TEST_F(Program, NamesTheFileOfAGpuTypeThatIsWrong) {
  std::filesystem::create_directories(path("profiles/net"));
  const std::string head = "placement,local_bsz,step_time,sync_time\n";
  write("profiles/net/placements.csv", head + "1,10,1,0\n");
  write("profiles/net/placements-A100.csv", head + "1,10,0,0\n");
  write("profiles/net/validation-10.csv", "progress,iteration,grad_sqr,grad_var\n100,100,1,1\n");
  const std::string trace =
      write("work.csv", "name,time,application,num_replicas,batch_size\nnet-1,0,net,1,10\n");
  const std::string command = "sim --trace " + trace + " --format pollux --profiles " +
                              path("profiles") + " --policy sia,gavel-las,gavel-ftf --cluster ";

  const ProgramOutcome bad = run(command + "2x4:T4+2x4:A100");
  const ProgramOutcome good = run(command + "2x4:T4+2x4:V100");

  EXPECT_EQ(bad.code, 65);
  EXPECT_NE(bad.out.find("placements-A100.csv:2: step_time: '0' is not a positive number"),
            std::string::npos)
      << bad.out;
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_NE(good.out.find("net: V100 GPUs take the step times of placements.csv"),
            std::string::npos)
      << good.out;
}

TEST_F(Program, SaysTheSameTwice) {
  const std::string command =
      "sim --trace " + generated(60) + " --cluster 4x8 --json --noise 0.1 --seed 4";
  const auto without_times = [](const std::string& text) {
    Json report = Json::parse(text);
    for (Json& row : report["results"]) {
      for (const char* name : {"decision_p50_seconds", "decision_p99_seconds",
                               "decision_max_seconds", "wall_seconds", "peak_rss_bytes"}) {
        row.erase(name);
      }
    }
    return report.dump();
  };

  EXPECT_EQ(without_times(run(command).out), without_times(run(command).out));
}

TEST_F(Program, GivesConfidenceIntervalsOverSeeds) {
  const ProgramOutcome outcome =
      run("sim --trace " + generated(60) + " --cluster 4x8 --json --seeds 4 --redraw-deadlines");

  const Json row = Json::parse(outcome.out)["results"][0];
  EXPECT_EQ(row["seeds"], 4);
  EXPECT_GT(row["ci"]["deadline_met_ratio"].get<double>(), 0);
}

TEST_F(Program, NamesFileLineAndFieldOfABadRow) {
  const std::string trace = write("bad.csv", std::string(kHeader) + "0,0,100,m,50,1,-2,10\n");

  const ProgramOutcome outcome = run("sim --trace " + trace + " --cluster 2x8");

  EXPECT_EQ(outcome.code, 65);
  EXPECT_NE(outcome.out.find("bad.csv:2"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("num_gpu"), std::string::npos) << outcome.out;
}

TEST_F(Program, SuggestsTheNearestSpelling) {
  const ProgramOutcome policy = run("sim --trace x --policy elasticflw");
  const ProgramOutcome cluster = run("sim --trace x --cluster 16by8");
  const ProgramOutcome verb = run("polcy list");

  EXPECT_EQ(policy.code, 65);
  EXPECT_NE(policy.out.find("did you mean 'elasticflow'"), std::string::npos) << policy.out;
  EXPECT_EQ(cluster.code, 65);
  EXPECT_NE(cluster.out.find("16x8"), std::string::npos) << cluster.out;
  EXPECT_EQ(verb.code, 64);
  EXPECT_NE(verb.out.find("did you mean 'policy'"), std::string::npos) << verb.out;
}

TEST_F(Program, LeavesNothingHalfDoneWhenAReportCannotBeWritten) {
  const ProgramOutcome outcome =
      run("sim --trace " + generated(20) + " --cluster 4x8 --html " + path("missing/report.html"));

  EXPECT_EQ(outcome.code, can_write_html() ? 65 : 78) << outcome.out;
  EXPECT_FALSE(std::filesystem::exists(path("missing")));
}

TEST_F(Program, WritesAReportThatNeedsNoNetwork) {
  const std::string file = path("report.html");

  const ProgramOutcome outcome = run("demo --sim --html " + file);

  if (!can_write_html()) {
    EXPECT_EQ(outcome.code, 78);
    EXPECT_NE(outcome.out.find("RUBATO_WEB=OFF"), std::string::npos) << outcome.out;
    EXPECT_FALSE(std::filesystem::exists(file));
    return;
  }
  ASSERT_EQ(outcome.code, 0) << outcome.out;
  const Json data = data_in(text_of(file));
  EXPECT_EQ(outside_word(text_of(file)), "");
  EXPECT_EQ(data["kind"], "comparison");
  EXPECT_EQ(data["comparison"]["groups"][0]["rows"].size(), 7U);
  ASSERT_EQ(data["pictures"]["runs"].size(), 7U);
  EXPECT_EQ(data["pictures"]["jobs"]["name"].size(), 400U);
  for (const Json& picture : data["pictures"]["runs"]) {
    EXPECT_GT(picture["rects"].size(), 5U * 275);  // A bar at least for each job that finished.
    EXPECT_EQ(picture["finish"].size(), 400U);
    EXPECT_GT(picture["jct"][0].size(), 100U);
  }
}

TEST_F(Program, ListsPoliciesAsJson) {
  const ProgramOutcome outcome = run("policy list --json");

  const Json policies = Json::parse(outcome.out)["policies"];
  EXPECT_GE(policies.size(), 8U);
  for (const char* name : {"name", "paper", "fidelity", "objective", "needs"}) {
    EXPECT_TRUE(policies[0].contains(name)) << name;
  }
}

TEST_F(Program, SurvivesBadLuck) {
  const std::string trace = generated(60);

  for (const char* faults : {"node_mtbf=100000,node_repair=3000", "worker_mtbf=100000",
                             "straggler_mtbf=100000,report_delay=120", "noise=0.2"}) {
    const ProgramOutcome outcome =
        run("sim --trace " + trace + " --cluster 4x8 --policy all --faults " + std::string(faults) +
            " --json");
    ASSERT_EQ(outcome.code, 0) << faults << "\n" << outcome.out;
    const Json report = Json::parse(outcome.out);
    for (const Json& row : report["results"]) {
      EXPECT_FALSE(row.contains("error")) << faults << "\n" << row.dump();
    }
  }
}

TEST_F(Program, HoldsATournamentOverTracesAndNoises) {
  const std::string first = generated(40);
  const std::string second = path("second.jsonl");
  ASSERT_EQ(run("trace generate --jobs 30 --seed 6 --cluster 4x8 -o " + second).code, 0);
  const std::string command = "sim --trace " + first + "," + second +
                              " --cluster 4x8 --policy all --noise 0,0.2" +
                              (can_write_html() ? " --html " + path("all.html") : "");

  const ProgramOutcome table = run(command);
  const ProgramOutcome json = run(command + " --json");

  ASSERT_EQ(table.code, 0) << table.out;
  EXPECT_NE(table.out.find("\nall 2 traces, speeds off by 20%\n"), std::string::npos) << table.out;
  const Json report = Json::parse(json.out);
  const std::size_t policies = Json::parse(run("policy list --json").out)["policies"].size();
  EXPECT_EQ(report["results"].size(), 4 * policies);
  EXPECT_EQ(report["aggregate"].size(), 2 * policies);
  EXPECT_EQ(report["results"][policies]["noise"], 0.2);
  if (can_write_html()) {
    const Json data = data_in(text_of(path("all.html")));
    EXPECT_EQ(outside_word(text_of(path("all.html"))), "");
    ASSERT_EQ(data["comparison"]["groups"].size(), 6U);
    EXPECT_EQ(data["comparison"]["groups"][5]["title"], "all 2 traces, speeds off by 20%");
    EXPECT_EQ(data["comparison"]["groups"][5]["rows"].size(), policies);
  }
}

TEST_F(Program, ATournamentSaysWhatASingleRunSays) {
  const std::string command = "sim --trace " + generated(60) + " --cluster 4x8 --noise 0.1 --json";

  const Json all = Json::parse(run(command + " --policy all").out)["results"];

  for (const Json& row : all) {
    const std::string policy = row["policy"];
    const Json alone = Json::parse(run(command + " --policy " + policy).out)["results"][0];
    for (const char* name : {"finished", "deadline_met", "jct_avg_seconds", "makespan_seconds",
                             "resizes", "restarts", "fair_ratio", "total_value", "decisions"}) {
      EXPECT_EQ(row[name], alone[name]) << policy << " " << name;
    }
  }
}

TEST_F(Program, ATournamentGoesOnWithoutThoseWhoFail) {
  // No run ends in a nanosecond.
  const std::string command = "sim --trace " + generated(40) + " --cluster 4x8 --limit 1e-9 --json";

  const ProgramOutcome named = run(command + " --policy fifo,srtf");
  const ProgramOutcome all = run(command + " --policy all");

  EXPECT_EQ(named.code, 78) << named.out;
  EXPECT_EQ(all.code, 78) << all.out;  // Nobody is left.
  EXPECT_NE(named.out.find("\"error\": \"policy srtf was stopped after"), std::string::npos)
      << named.out;
}

TEST_F(Program, WritesANewPolicyOrSaysWhyNot) {
  write("registered.inc", "RUBATO_POLICY(edf, edf)\n");
  const std::string dir = " --dir " + folder_.string();

  EXPECT_EQ(run("policy new mine" + dir).code, 0);
  EXPECT_EQ(run("policy new mine" + dir).code, 65);
  EXPECT_EQ(run("policy new Mine" + dir).code, 65);
  EXPECT_EQ(run("policy new mine --dir " + path("missing")).code, 65);
  EXPECT_EQ(run("policy new").code, 64);
}

}  // namespace
}  // namespace rubato
