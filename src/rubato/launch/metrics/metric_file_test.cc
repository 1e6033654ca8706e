#include "rubato/launch/metrics/metric_file.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "rubato/launch/process/process_scene_test.h"

namespace rubato::launch::metrics {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// Adds a point to a series and its file.
void add_to(MetricSeries& series, MetricFile& file, const Metric& metric, std::uint64_t sequence) {
  series.add(metric, sequence);
  file.append(metric.name, {.sequence = sequence, .step = metric.step, .value = metric.value});
}

TEST(MetricFile, KeepsPointsForTheNextWriter) {
  const TestFolder folder("metric_file_test");
  const std::string path = folder.at("metrics");
  MetricSeries before;
  MetricFile file(path);
  add_to(before, file, {.name = "val/loss", .value = 0.1, .step = 3}, 7);
  ASSERT_TRUE(file.write(before).ok());
  add_to(before, file, {.name = "acc", .value = kNoValue, .step = 4}, 8);
  ASSERT_TRUE(file.write(before).ok());

  MetricSeries after;
  MetricFile next(path);
  ASSERT_TRUE(next.load(after).ok());
  add_to(after, next, {.name = "acc", .value = 0.5, .step = 5}, 9);
  ASSERT_TRUE(next.write(after).ok());

  EXPECT_EQ(folder.read("metrics"), "7 3 0.1 val/loss\n8 4 nan acc\n9 5 0.5 acc\n");
  EXPECT_EQ(after.last_sequence(), 9);
  EXPECT_TRUE(std::isnan(after.names().at("acc").points()[0].value));
}

TEST(MetricFile, IsWrittenAnewBeforeItGrowsFarBeyondItsSeries) {
  const TestFolder folder("metric_file_test");
  MetricSeries series(100);
  MetricFile file(folder.at("metrics"));
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    add_to(series, file, {.name = "loss", .value = 0.5, .step = static_cast<std::int64_t>(i)}, i);
    if (i % 100 == 0) {
      ASSERT_TRUE(file.write(series).ok());
    }
  }

  EXPECT_LT(std::filesystem::file_size(folder.at("metrics")), 2400 * 24);
  MetricSeries read;
  ASSERT_TRUE(read_metrics(folder.at("metrics"), read).ok());
  EXPECT_EQ(read.last_sequence(), 20'000);
}

TEST(MetricFile, PassesOverLinesThatAreNoPointsAndMendsTheFile) {
  const TestFolder folder("metric_file_test");
  std::ofstream(folder.at("metrics")) << "1 2 0.5 loss\nrubbish\n1 x 0.5 loss\n-1 2 0.5 loss\n"
                                      << "2 3 inf loss\n3 4 0.25 loss\n4 5 0.1";
  MetricSeries series;
  MetricFile file(folder.at("metrics"));

  ASSERT_TRUE(file.load(series).ok());
  ASSERT_TRUE(file.write(series).ok());

  EXPECT_EQ(folder.read("metrics"), "1 2 0.5 loss\n3 4 0.25 loss\n");
}

TEST(MetricFile, AMissingFileIsEmpty) {
  const TestFolder folder("metric_file_test");
  MetricSeries series;

  const auto read = read_metrics(folder.at("metrics"), series);

  ASSERT_TRUE(read.ok());
  EXPECT_EQ(series.size(), 0);
}

TEST(MetricFile, RefusesWhatAProgramMayHavePutInItsPlace) {
  const TestFolder folder("metric_file_test");
  ASSERT_EQ(::mkfifo(folder.at("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/etc/passwd", folder.at("link"));
  MetricSeries series;

  EXPECT_FALSE(read_metrics(folder.at("pipe"), series).ok());
  EXPECT_FALSE(read_metrics(folder.at("link"), series).ok());
  EXPECT_FALSE(read_metrics("/dev/zero", series).ok());
}

TEST(MetricFile, TriesAgainWithAllWhenItCouldNotBeWritten) {
  const TestFolder folder("metric_file_test");
  MetricSeries series;
  MetricFile file(folder.at("later/metrics"));
  add_to(series, file, {.name = "loss", .value = 0.5, .step = 1}, 1);
  EXPECT_FALSE(file.write(series).ok());

  std::filesystem::create_directory(folder.at("later"));
  ASSERT_TRUE(file.write(series).ok());

  EXPECT_EQ(folder.read("later/metrics"), "1 1 0.5 loss\n");
}

}  // namespace
}  // namespace rubato::launch::metrics
