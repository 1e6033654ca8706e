#include "rubato/cli/text/metric_text.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/cli/text/text_table.h"

namespace rubato {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

void add_metric(wire::JobMetricsReply& reply, const std::string& name,
                const std::vector<double>& values) {
  reply.add_names(name);
  wire::MetricLine& line = *reply.add_lines();
  line.set_name(name);
  for (const double value : values) {
    line.add_steps(10.0 * line.values_size());
    line.add_values(value);
  }
}

TEST(TextSparkline, GoesFromTheLowestToTheHighestBar) {
  EXPECT_EQ(text_sparkline(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}, 40), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(text_sparkline(std::vector<double>{1, 0}, 40), "█▁");
}

TEST(TextSparkline, HasAsManyColumnsAsAskedFor) {
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i);
  }

  EXPECT_EQ(shown_width(text_sparkline(values, 40)), 40);
  EXPECT_EQ(text_sparkline(values, 2), "▂▇");
}

TEST(TextSparkline, LeavesOutWhatIsNoNumber) {
  EXPECT_EQ(text_sparkline(std::vector<double>{1, kNoNumber, 2}, 40), "▁ █");
  EXPECT_EQ(text_sparkline(std::vector<double>{kNoNumber}, 40), "");
  EXPECT_EQ(text_sparkline(std::vector<double>{}, 40), "");
  EXPECT_EQ(text_sparkline(std::vector<double>{3, 3}, 40), "▅▅");
}

TEST(MetricsText, HasARowForEachMetric) {
  wire::JobMetricsReply reply;
  add_metric(reply, "acc", {0.5, 0.91});
  add_metric(reply, "loss", {2.25, kNoNumber, 0.123456789});

  EXPECT_EQ(metrics_text(reply),
            "METRIC     LAST  STEP   LOWEST  HIGHEST  COURSE\n"
            "acc        0.91    10      0.5     0.91  ▁█\n"
            "loss    0.12346    20  0.12346     2.25  █ ▁\n");
}

TEST(MetricsText, SaysWhenThereIsNothing) { EXPECT_EQ(metrics_text({}), "no metrics so far\n"); }

}  // namespace
}  // namespace rubato
