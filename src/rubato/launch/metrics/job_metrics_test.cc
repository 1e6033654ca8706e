#include "rubato/launch/metrics/job_metrics.h"

#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/launch/process/process_scene_test.h"

namespace rubato::launch::metrics {
namespace {

// `loss:0.5@3`: name, value and step of all that was not told yet.
std::string news_of(JobMetrics& metrics) {
  std::string text;
  wire::JobMetrics news;
  while (metrics.take_news(news)) {
    for (const wire::MetricPoint& point : news.points()) {
      text += fmt::format("{}{}:{}@{}", text.empty() ? "" : " ", point.name(), point.value(),
                          point.step());
    }
    news.Clear();
  }
  return text;
}

TEST(JobMetrics, TellsWhatIsReportedAndWhatIsPrintedOnce) {
  JobMetrics metrics({});
  metrics.set_step(7);

  metrics.log("val loss", 0.5, 3);
  metrics.read_line(1, "acc: 0.75\n");

  EXPECT_EQ(news_of(metrics), "val_loss:0.5@3 acc:0.75@7");
  EXPECT_EQ(news_of(metrics), "");
}

TEST(JobMetrics, TellsMuchNewsInParts) {
  JobMetrics metrics({});
  for (std::size_t i = 0; i < 3 * kPointsPerMessage / 2; ++i) {
    metrics.log(fmt::format("name{}", i % 200), 0.5, 1);
  }
  wire::JobMetrics first;
  wire::JobMetrics second;

  EXPECT_TRUE(metrics.take_news(first));
  EXPECT_TRUE(metrics.take_news(second));

  EXPECT_EQ(first.points_size(), kPointsPerMessage);
  EXPECT_EQ(second.points_size(), kPointsPerMessage / 2);
}

TEST(JobMetrics, DoesNotTakeFromTheLogWhatIsReported) {
  JobMetrics metrics({});
  metrics.log("loss", 0.512345, 3);

  metrics.read_line(1, "loss: 0.51, acc: 0.75");

  EXPECT_EQ(news_of(metrics), "loss:0.512345@3 acc:0.75@0");
}

TEST(JobMetrics, CountsReportsWhereStepsAreNotKnown) {
  JobMetrics metrics({});
  for (int i = 0; i < 3; ++i) {
    metrics.read_line(1, "loss: 0.5");
  }
  metrics.set_step(40);
  metrics.set_step(0);
  metrics.read_line(1, "loss: 0.5, acc=0.25");

  EXPECT_EQ(news_of(metrics), "loss:0.5@0 loss:0.5@1 loss:0.5@2 loss:0.5@40 acc:0.25@40");
}

TEST(JobMetrics, DoesNotListenToOurOwnNotices) {
  JobMetrics metrics({});

  metrics.read_line(1, "rubato: the loss: 0.5 of a worker is tried again\n");

  EXPECT_EQ(news_of(metrics), "");
}

TEST(JobMetrics, ListensToOneOfSeveralWorkersUntilItFallsSilent) {
  JobMetrics metrics({});
  for (int i = 0; i < 3; ++i) {
    metrics.read_line(2, "loss=0.25");
    metrics.read_line(1, "loss=0.5");
  }
  EXPECT_EQ(news_of(metrics), "loss:0.25@0 loss:0.25@1 loss:0.25@2");

  for (int i = 0; i < 20; ++i) {
    metrics.read_line(1, "loss=0.5");
  }
  metrics.read_line(1, "loss=0.75");

  EXPECT_THAT(news_of(metrics), testing::HasSubstr("loss:0.75@"));
}

TEST(JobMetrics, SaysWhenItsRuleComesTrue) {
  JobMetrics metrics({.until = "accuracy >= 0.9 for 2"});
  metrics.set_step(10);

  metrics.read_line(1, "accuracy: 0.95");
  EXPECT_FALSE(metrics.take_end(2000));
  metrics.log("accuracy", 0.91, 1);

  EXPECT_EQ(metrics.take_end(2000),
            "ended by --until accuracy >= 0.9 for 2 (0.91 at step 10 of at most 2000)");
  EXPECT_FALSE(metrics.take_end(2000));
}

TEST(JobMetrics, WarnsOfTooManyNames) {
  JobMetrics metrics({});
  for (std::size_t i = 0; i <= kNamesMax; ++i) {
    EXPECT_EQ(metrics.take_warning(), "");
    metrics.log(fmt::format("name{}", i), 0.5, 1);
  }

  EXPECT_EQ(metrics.take_warning(), "the job has more than 256 metrics; others are left out");
  EXPECT_EQ(metrics.take_warning(), "");
}

TEST(JobMetrics, GoesOnAfterAnEarlierRunWithHigherNumbers) {
  const TestFolder folder("job_metrics_test");
  const std::string path = folder.at("metrics");
  JobMetrics first({.path = path, .order = 2});
  first.log("loss", 0.5, 1);
  first.save();

  JobMetrics second({.path = path, .order = 3});
  second.log("loss", 0.25, 2);
  second.save();
  JobMetrics same_order({.path = path, .order = 3});
  same_order.log("loss", 0.125, 3);
  same_order.save();

  EXPECT_EQ(folder.read("metrics"),
            "8589934593 1 0.5 loss\n12884901889 2 0.25 loss\n12884901890 3 0.125 loss\n");
  EXPECT_EQ(news_of(same_order), "loss:0.125@3");
}

TEST(AddPoints, BelievesAMessageOnlyAsFarAsItCanBe) {
  wire::JobMetrics message;
  wire::MetricPoint& point = *message.add_points();
  point.set_name("lo\x01ss");
  point.set_value(std::numeric_limits<double>::infinity());
  point.set_step(-5);
  point.set_sequence(1);
  *message.add_points() = point;  // Told twice.
  message.add_points()->set_sequence(2);
  MetricSeries series;
  int added = 0;

  add_points(message, series, [&](const std::string& name, const MetricPoint& taken) {
    EXPECT_EQ(name, "loss");
    EXPECT_EQ(taken.step, 0);
    ++added;
  });

  EXPECT_EQ(added, 1);
}

}  // namespace
}  // namespace rubato::launch::metrics
