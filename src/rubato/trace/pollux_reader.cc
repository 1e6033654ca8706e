#include "rubato/trace/pollux_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "rubato/trace/table_reader.h"

namespace rubato {
namespace {

/// The columns, by the order in which they are listed below.
struct At {
  enum : std::size_t {
    Name,
    Time,
    Application,
    Replicas,
    Batch,
    Deadline,
    Samples,
    Category,
    Duration,
    Count,
  };
};

constexpr std::array<Column, At::Count> kColumns{{
    {.name = "name"},
    {.name = "time"},
    {.name = "application"},
    {.name = "num_replicas", .alias = "num_gpus"},
    {.name = "batch_size"},
    {.name = "ddl", .alias = "deadline", .is_required = false},
    {.name = "max_sample", .alias = {}, .is_required = false},
    {.name = "category", .alias = {}, .is_required = false},
    {.name = "duration", .alias = {}, .is_required = false},
}};

constexpr std::array<std::string_view, 3> kCategories{"adaptive", "scale-gpus", "rigid"};
constexpr double kSamplesMax = 1e18;

class PolluxReader final : public TableReader {
 public:
  explicit PolluxReader(ReaderSetup setup) : TableReader(std::move(setup), {.columns = kColumns}) {}

 private:
  void convert(Row& row, Job& job) override {
    job.name = row.text(At::Name);
    job.arrival = row.moment(At::Time);
    job.model = row.text(At::Application);
    job.requested = row.gpus(At::Replicas);
    job.batch = static_cast<int>(row.integer(At::Batch, 1, std::numeric_limits<int>::max()));
    job.job_class = row.has(At::Deadline) ? JobClass::Slo : JobClass::BestEffort;
    if (row.has(At::Deadline)) {
      job.deadline = row.moment(At::Deadline);
    }
    if (row.has(At::Duration)) {
      job.duration = row.seconds(At::Duration);
    }
    if (row.has(At::Samples) && job.batch > 0) {
      job.work = std::ceil(row.number(At::Samples, 0, kSamplesMax) / job.batch);
    }
    if (row.has(At::Category)) {
      convert_category(row, job);
    }
  }

  static void convert_category(Row& row, Job& job) {
    const std::string_view category = row.text(At::Category);
    if (std::ranges::find(kCategories, category) == kCategories.end()) {
      row.reject(At::Category,
                 fmt::format("found {}, expected one of {}", shown(category),
                             fmt::join(kCategories, ", ")),
                 did_you_mean(category, kCategories));
    } else if (category == "rigid" && job.requested > 0) {
      job.workers = {.min = job.requested, .max = job.requested, .listed = {job.requested}};
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_pollux_reader(ReaderSetup setup) {
  return std::make_unique<PolluxReader>(std::move(setup));
}

}  // namespace rubato
