#include "rubato/live/service/metric_store.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

namespace fs = std::filesystem;

class MetricStoreTest : public testing::Test {
 protected:
  MetricStoreTest() {
    std::string pattern = (fs::temp_directory_path() / "rubato-metrics-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~MetricStoreTest() override { fs::remove_all(folder_); }
  MetricStoreTest(const MetricStoreTest&) = delete;
  MetricStoreTest& operator=(const MetricStoreTest&) = delete;

  // The file of a job that is run here, or where `below` is.
  void write_file(std::uint64_t job, const std::string& text, const std::string& below = "jobs") {
    const fs::path logs = fs::path(folder_) / below / std::to_string(job) / "logs";
    fs::create_directories(logs);
    std::ofstream(logs / "metrics") << text;
  }

  static wire::JobMetrics points(const std::vector<std::uint64_t>& sequences) {
    wire::JobMetrics message;
    for (const std::uint64_t sequence : sequences) {
      wire::MetricPoint& point = *message.add_points();
      point.set_name("loss");
      point.set_sequence(sequence);
      point.set_step(static_cast<std::int64_t>(sequence));
      point.set_value(0.5);
    }
    return message;
  }

  // Sequence numbers of the metric `loss`, such as `1 2 5`.
  static std::string seen(MetricStore& store, std::uint64_t job) {
    std::string text;
    store.look(JobId{job}, [&](const launch::metrics::MetricSeries& series) {
      if (const auto found = series.names().find("loss"); found != series.names().end()) {
        for (const auto& point : found->second.points()) {
          text += fmt::format("{}{}", text.empty() ? "" : " ", point.sequence);
        }
      }
    });
    return text;
  }

  std::string folder_;
};

TEST_F(MetricStoreTest, ReadsTheFileOfAJobOfThisMachineAndFollowsWhatIsTold) {
  write_file(7, "1 1 0.5 loss\n2 2 0.25 loss\n");
  MetricStore store({.state_directory = folder_});
  EXPECT_EQ(seen(store, 7), "1 2");

  store.add(JobId{7}, points({2, 3}));

  EXPECT_EQ(seen(store, 7), "1 2 3");
  EXPECT_FALSE(fs::exists(fs::path(folder_) / "metrics")) << "its own file has them";
}

TEST_F(MetricStoreTest, ReadsTheFileInTheDirectoryThatAllMachinesSee) {
  write_file(7, "1 1 0.5 loss\n", "shared");
  MetricStore store({.state_directory = folder_, .shared_directory = folder_ + "/shared"});

  EXPECT_EQ(seen(store, 7), "1");
}

TEST_F(MetricStoreTest, KeepsWhatIsToldOfAJobElsewhereOverARestart) {
  {
    MetricStore store({.state_directory = folder_});
    store.add(JobId{7}, points({1, 2}));
    store.add(JobId{7}, points({2, 3}));
    EXPECT_EQ(seen(store, 7), "1 2 3");
  }
  MetricStore again({.state_directory = folder_});
  again.add(JobId{7}, points({1, 2, 3, 4}));

  EXPECT_EQ(seen(again, 7), "1 2 3 4");
  std::ifstream file(fs::path(folder_) / "metrics" / "7");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(std::ranges::count(text, '\n'), 4) << "nothing is written twice";
}

TEST_F(MetricStoreTest, ThinsTheFileOfAJobElsewhere) {
  MetricStore store({.state_directory = folder_, .file_bytes_max = 50'000});
  for (std::uint64_t i = 0; i < 20'000; i += 100) {
    std::vector<std::uint64_t> some;
    for (std::uint64_t k = 1; k <= 100; ++k) {
      some.push_back(i + k);
    }
    store.add(JobId{7}, points(some));
  }

  EXPECT_LT(fs::file_size(fs::path(folder_) / "metrics" / "7"), 60'000);
  MetricStore again({.state_directory = folder_});
  EXPECT_TRUE(seen(again, 7).ends_with(" 20000"));
}

TEST_F(MetricStoreTest, ForgetsWhatNobodyAsksForAndReadsItAgain) {
  for (std::uint64_t job = 1; job <= 5; ++job) {
    write_file(job, "1 1 0.5 loss\n2 2 0.5 loss\n");
  }
  MetricStore store({.state_directory = folder_, .points_max = 4});
  for (std::uint64_t job = 1; job <= 5; ++job) {
    EXPECT_EQ(seen(store, job), "1 2");
  }
  write_file(1, "1 1 0.5 loss\n2 2 0.5 loss\n3 3 0.5 loss\n");

  EXPECT_EQ(seen(store, 1), "1 2 3") << "it was not in memory any more";
}

TEST_F(MetricStoreTest, AJobWithoutMetricsHasNone) {
  MetricStore store({.state_directory = folder_});

  EXPECT_EQ(seen(store, 7), "");
}

}  // namespace
}  // namespace rubato
