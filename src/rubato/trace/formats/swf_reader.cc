#include "rubato/trace/formats/swf_reader.h"

#include <array>
#include <string>
#include <utility>

#include "rubato/trace/read/table_reader.h"

namespace rubato {
namespace {

/// The columns, by the order in which they are listed below.
struct SwfAt {
  enum : std::size_t {
    JobNumber = 0,
    Submit = 1,
    RunTime = 3,
    Allocated = 4,
    Requested = 7,
    User = 11,
    Executable = 13,
    Count = 18,
  };
};

constexpr std::array<Column, SwfAt::Count> kSwfColumns{{
    {.name = "job_number"},
    {.name = "submit_time"},
    {.name = "wait_time"},
    {.name = "run_time"},
    {.name = "allocated_processors"},
    {.name = "average_cpu_time"},
    {.name = "used_memory"},
    {.name = "requested_processors"},
    {.name = "requested_time"},
    {.name = "requested_memory"},
    {.name = "status"},
    {.name = "user_id"},
    {.name = "group_id"},
    {.name = "executable"},
    {.name = "queue"},
    {.name = "partition"},
    {.name = "preceding_job"},
    {.name = "think_time"},
}};

bool is_unknown(std::string_view text) { return text == "-1"; }

class SwfReader final : public TableReader {
 public:
  explicit SwfReader(ReaderSetup setup)
      : TableReader(
            std::move(setup),
            {.columns = kSwfColumns, .separator = ' ', .comment = ';', .has_header = false}) {}

 private:
  void convert(Row& row, Job& job) override {
    job.job_class = JobClass::BestEffort;
    job.name = row.text(SwfAt::JobNumber);
    job.arrival = row.moment(SwfAt::Submit);
    if (is_unknown(row.text(SwfAt::RunTime))) {
      row.skip(SwfAt::RunTime, "the job never ran");
      return;
    }
    job.duration = row.seconds(SwfAt::RunTime);
    const bool is_allocated =
        !is_unknown(row.text(SwfAt::Allocated)) && row.text(SwfAt::Allocated) != "0";
    const std::size_t processors = is_allocated ? SwfAt::Allocated : SwfAt::Requested;
    if (is_unknown(row.text(processors))) {
      row.skip(processors, "the job has no known number of processors");
      return;
    }
    job.requested = row.gpus(processors);
    if (!is_unknown(row.text(SwfAt::User))) {
      job.tenant = "user-" + std::string(row.text(SwfAt::User));
    }
    if (!is_unknown(row.text(SwfAt::Executable))) {
      job.model = "app-" + std::string(row.text(SwfAt::Executable));
    }
    if (row.is_usable() && job.duration == Duration{0}) {
      row.skip(SwfAt::RunTime, "the job never ran");
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_swf_reader(ReaderSetup setup) {
  return std::make_unique<SwfReader>(std::move(setup));
}

}  // namespace rubato
