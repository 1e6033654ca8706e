#include "rubato/trace/elasticflow_reader.h"

#include <array>
#include <limits>
#include <utility>

#include "rubato/trace/table_reader.h"

namespace rubato {
namespace {

/// The columns, by the order in which they are listed below.
struct At {
  enum : std::size_t {
    JobId,
    Submission,
    Iterations,
    Model,
    Deadline,
    Batch,
    Gpus,
    Duration,
    BestEffort,
    RealIterations,
    RealDuration,
    Count,
  };
};

constexpr std::array<Column, At::Count> kColumns{{
    {.name = "job_id"},
    {.name = "submission_time", .alias = "submit_time"},
    {.name = "num_iteration", .alias = "iteration"},
    {.name = "model_name"},
    {.name = "deadline", .alias = "ddl"},
    {.name = "batch_size"},
    {.name = "num_gpu"},
    {.name = "duration"},
    {.name = "best_effort", .alias = {}, .is_required = false},
    {.name = "real_iteration", .alias = {}, .is_required = false},
    {.name = "real_duration", .alias = {}, .is_required = false},
}};

constexpr double kWorkMax = 1e18;

class ElasticFlowReader final : public TableReader {
 public:
  explicit ElasticFlowReader(ReaderSetup setup)
      : TableReader(std::move(setup), {.columns = kColumns}) {}

 private:
  void convert(Row& row, Job& job) override {
    job.name = row.text(At::JobId);
    job.arrival = row.moment(At::Submission);
    job.work = row.number(At::Iterations, 0, kWorkMax);
    job.model = row.text(At::Model);
    job.batch = static_cast<int>(row.integer(At::Batch, 0, std::numeric_limits<int>::max()));
    job.requested = row.gpus(At::Gpus);
    job.duration = row.seconds(At::Duration);
    if (row.has(At::BestEffort) && row.integer(At::BestEffort, 0, 1) == 1) {
      job.job_class = JobClass::BestEffort;
    } else {
      job.deadline = row.moment(At::Deadline);
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_elasticflow_reader(ReaderSetup setup) {
  return std::make_unique<ElasticFlowReader>(std::move(setup));
}

}  // namespace rubato
