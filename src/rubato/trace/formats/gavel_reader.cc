#include "rubato/trace/formats/gavel_reader.h"

#include <array>
#include <limits>
#include <utility>

#include "rubato/base/parse.h"
#include "rubato/trace/read/table_reader.h"

namespace rubato {
namespace {

/// The columns, by the order in which they are listed below.
struct GavelAt {
  enum : std::size_t {
    Type,
    Command,
    Directory,
    StepsArgument,
    NeedsData,
    Steps,
    ScaleFactor,
    Mode,
    Weight,
    Slo,
    Arrival,
    Count,
  };
};

constexpr std::array<Column, GavelAt::Count> kGavelColumns{{
    {.name = "job_type"},
    {.name = "command"},
    {.name = "working_directory"},
    {.name = "num_steps_arg"},
    {.name = "needs_data_dir"},
    {.name = "total_steps"},
    {.name = "scale_factor"},
    {.name = "mode"},
    {.name = "priority_weight"},
    {.name = "SLO"},
    {.name = "arrival_time"},
}};

constexpr double kStepsMax = 1e18;
constexpr double kWeightMax = 1e9;
constexpr double kSloMax = 1e9;

// Splits `LM (batch size 80)`; a type without a batch size is the model alone.
void convert_type(Row& row, Job& job) {
  constexpr std::string_view kMark = " (batch size ";
  const std::string_view type = row.text(GavelAt::Type);
  const std::size_t mark = type.find(kMark);
  job.model = type.substr(0, mark);
  if (mark == std::string_view::npos) {
    return;
  }
  const std::string_view rest = type.substr(mark + kMark.size());
  const auto batch = parse_int(rest.substr(0, rest.find(')')));
  if (!batch || *batch < 1 || *batch > std::numeric_limits<int>::max()) {
    row.reject(GavelAt::Type,
               "found " + shown(type) + ", expected a type like 'LM (batch size 80)'");
    return;
  }
  job.batch = static_cast<int>(*batch);
}

class GavelReader final : public TableReader {
 public:
  explicit GavelReader(ReaderSetup setup)
      : TableReader(std::move(setup),
                    {.columns = kGavelColumns, .separator = '\t', .has_header = false}) {}

 private:
  [[nodiscard]] std::optional<Positions> positions_of(std::size_t fields) const override {
    switch (fields) {
      case 7:
        return Positions{0, 1, -1, 2, 3, 4, 6, -1, -1, -1, 5};
      case 9:
        return Positions{0, 1, -1, 2, 3, 4, 5, -1, 6, 7, 8};
      case 10:
        return Positions{0, 1, 2, 3, 4, 5, 6, -1, 7, 8, 9};
      case 11:
        return Positions{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
      default:
        return std::nullopt;
    }
  }

  void convert(Row& row, Job& job) override {
    job.job_class = JobClass::BestEffort;
    convert_type(row, job);
    job.work = row.number(GavelAt::Steps, 0, kStepsMax);
    job.requested = row.gpus(GavelAt::ScaleFactor);
    job.arrival = row.moment(GavelAt::Arrival);
    if (row.has(GavelAt::Weight)) {
      job.weight = row.number(GavelAt::Weight, 0, kWeightMax);
    }
    const bool has_slo = row.has(GavelAt::Slo) && row.number(GavelAt::Slo, -1, kSloMax) > 0;
    if (has_slo && !has_warned_) {
      has_warned_ = true;
      problems().warning(row.line(), "SLO",
                         "is a multiple of a duration the trace does not have: no deadline is set");
    }
  }

  bool has_warned_ = false;
};

}  // namespace

std::unique_ptr<Reader> make_gavel_reader(ReaderSetup setup) {
  return std::make_unique<GavelReader>(std::move(setup));
}

}  // namespace rubato
