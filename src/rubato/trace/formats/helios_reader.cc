#include "rubato/trace/formats/helios_reader.h"

#include <array>
#include <utility>

#include "rubato/trace/read/table_reader.h"

namespace rubato {
namespace {

/// The columns, by the order in which they are listed below.
struct HeliosAt {
  enum : std::size_t {
    JobId,
    User,
    VirtualCluster,
    JobName,
    Gpus,
    Cpus,
    Nodes,
    State,
    Submit,
    Start,
    End,
    Duration,
    Queue,
    Count,
  };
};

constexpr std::array<Column, HeliosAt::Count> kHeliosColumns{{
    {.name = "job_id"},
    {.name = "user", .alias = {}, .is_required = false},
    {.name = "vc", .alias = {}, .is_required = false},
    {.name = "jobname", .alias = {}, .is_required = false},
    {.name = "gpu_num"},
    {.name = "cpu_num", .alias = {}, .is_required = false},
    {.name = "node_num", .alias = {}, .is_required = false},
    {.name = "state", .alias = {}, .is_required = false},
    {.name = "submit_time"},
    {.name = "start_time", .alias = {}, .is_required = false},
    {.name = "end_time", .alias = {}, .is_required = false},
    {.name = "duration"},
    {.name = "queue", .alias = {}, .is_required = false},
}};

class HeliosReader final : public TableReader {
 public:
  explicit HeliosReader(ReaderSetup setup)
      : TableReader(std::move(setup), {.columns = kHeliosColumns}) {}

 private:
  void convert(Row& row, Job& job) override {
    job.job_class = JobClass::BestEffort;
    job.name = row.text(HeliosAt::JobId);
    job.tenant = row.text(HeliosAt::VirtualCluster);
    job.arrival = row.date(HeliosAt::Submit);
    job.duration = row.seconds(HeliosAt::Duration);
    job.requested = static_cast<int>(row.integer(HeliosAt::Gpus, 0, kGpusMax));
    if (row.is_usable() && job.requested == 0) {
      row.skip(HeliosAt::Gpus, "the job uses no GPU");
    } else if (row.is_usable() && job.duration == Duration{0}) {
      row.skip(HeliosAt::Duration, "the job never ran");
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_helios_reader(ReaderSetup setup) {
  return std::make_unique<HeliosReader>(std::move(setup));
}

}  // namespace rubato
