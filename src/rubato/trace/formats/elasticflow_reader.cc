#include "rubato/trace/formats/elasticflow_reader.h"

#include <array>
#include <limits>
#include <utility>

#include "rubato/trace/read/table_reader.h"

namespace rubato {
namespace {

/// The columns, by the order in which they are listed below.
struct ElasticflowAt {
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

constexpr std::array<Column, ElasticflowAt::Count> kElasticflowColumns{{
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
      : TableReader(std::move(setup), {.columns = kElasticflowColumns}) {}

 private:
  void convert(Row& row, Job& job) override {
    job.name = row.text(ElasticflowAt::JobId);
    job.arrival = row.moment(ElasticflowAt::Submission);
    job.work = row.number(ElasticflowAt::Iterations, 0, kWorkMax);
    job.model = row.text(ElasticflowAt::Model);
    job.batch =
        static_cast<int>(row.integer(ElasticflowAt::Batch, 0, std::numeric_limits<int>::max()));
    job.requested = row.gpus(ElasticflowAt::Gpus);
    job.duration = row.seconds(ElasticflowAt::Duration);
    if (row.has(ElasticflowAt::BestEffort) && row.integer(ElasticflowAt::BestEffort, 0, 1) == 1) {
      job.job_class = JobClass::BestEffort;
    } else {
      job.deadline = row.moment(ElasticflowAt::Deadline);
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_elasticflow_reader(ReaderSetup setup) {
  return std::make_unique<ElasticFlowReader>(std::move(setup));
}

}  // namespace rubato
