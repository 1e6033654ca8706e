#include "rubato/trace/formats/pollux_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "rubato/trace/read/table_reader.h"

namespace rubato {
namespace {

/// The columns, by the order in which they are listed below.
struct PolluxAt {
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

constexpr std::array<Column, PolluxAt::Count> kPolluxColumns{{
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
  explicit PolluxReader(ReaderSetup setup)
      : TableReader(std::move(setup), {.columns = kPolluxColumns}) {}

 private:
  void convert(Row& row, Job& job) override {
    job.name = row.text(PolluxAt::Name);
    job.arrival = row.moment(PolluxAt::Time);
    job.model = row.text(PolluxAt::Application);
    job.requested = row.gpus(PolluxAt::Replicas);
    job.batch = static_cast<int>(row.integer(PolluxAt::Batch, 1, std::numeric_limits<int>::max()));
    job.job_class = row.has(PolluxAt::Deadline) ? JobClass::Slo : JobClass::BestEffort;
    if (row.has(PolluxAt::Deadline)) {
      job.deadline = row.moment(PolluxAt::Deadline);
    }
    if (row.has(PolluxAt::Duration)) {
      job.duration = row.seconds(PolluxAt::Duration);
    }
    if (row.has(PolluxAt::Samples) && job.batch > 0) {
      job.work = std::ceil(row.number(PolluxAt::Samples, 0, kSamplesMax) / job.batch);
    }
    if (row.has(PolluxAt::Category)) {
      convert_category(row, job);
    }
  }

  static void convert_category(Row& row, Job& job) {
    const std::string_view category = row.text(PolluxAt::Category);
    if (std::ranges::find(kCategories, category) == kCategories.end()) {
      row.reject(PolluxAt::Category,
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
