#include "rubato/trace/formats/pai_reader.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rubato/trace/read/table_reader.h"

namespace rubato {
namespace {

/// The columns, by the order in which they are listed below.
struct PaiAt {
  enum : std::size_t {
    JobName,
    TaskName,
    Instances,
    Status,
    Start,
    End,
    PlanCpu,
    PlanMemory,
    PlanGpu,
    GpuType,
    Count,
  };
};

constexpr std::array<Column, PaiAt::Count> kPaiColumns{{
    {.name = "job_name"},
    {.name = "task_name"},
    {.name = "inst_num"},
    {.name = "status"},
    {.name = "start_time"},
    {.name = "end_time"},
    {.name = "plan_cpu", .alias = {}, .is_required = false},
    {.name = "plan_mem", .alias = {}, .is_required = false},
    {.name = "plan_gpu"},
    {.name = "gpu_type", .alias = {}, .is_required = false},
}};

constexpr double kPercentMax = 1e6;

class PaiReader final : public TableReader {
 public:
  explicit PaiReader(ReaderSetup setup)
      : TableReader(std::move(setup), {.columns = kPaiColumns, .has_header = false}) {}

 private:
  void convert(Row& row, Job& job) override {
    if (!row.has(PaiAt::PlanGpu)) {
      row.skip(PaiAt::PlanGpu, "the task uses no GPU");
      return;
    }
    if (!row.has(PaiAt::Start) || !row.has(PaiAt::End)) {
      row.skip(row.has(PaiAt::Start) ? PaiAt::End : PaiAt::Start,
               "the task has not started or not ended");
      return;
    }
    job.job_class = JobClass::BestEffort;
    job.name = fmt::format("{}/{}", row.text(PaiAt::JobName), row.text(PaiAt::TaskName));
    job.arrival = row.moment(PaiAt::Start);
    job.duration = row.moment(PaiAt::End) - job.arrival;
    if (row.text(PaiAt::GpuType) != "MISC" && row.text(PaiAt::GpuType) != "CPU") {
      job.gpu_type = row.text(PaiAt::GpuType);
    }
    const auto instances = static_cast<double>(row.integer(PaiAt::Instances, 1, kGpusMax));
    const double gpus = std::ceil(instances * row.number(PaiAt::PlanGpu, 0, kPercentMax) / 100);
    if (!row.is_usable()) {
      return;
    }
    if (gpus < 1) {
      row.skip(PaiAt::PlanGpu, "the task uses no GPU");
    } else if (gpus > kGpusMax) {
      row.reject(PaiAt::PlanGpu,
                 fmt::format("found {:.0f} GPUs, expected at most {}", gpus, kGpusMax));
    } else if (job.duration < Duration{0}) {
      row.reject(PaiAt::End, fmt::format("{} is before start_time, which is {}",
                                         row.text(PaiAt::End), row.text(PaiAt::Start)));
    } else {
      job.requested = static_cast<int>(gpus);
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_pai_reader(ReaderSetup setup) {
  return std::make_unique<PaiReader>(std::move(setup));
}

}  // namespace rubato
