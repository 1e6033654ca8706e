// A job whose workers come and go while it trains.
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "rubato/cli/conducted_job.h"
#include "rubato/cli/emulated_crew.h"
#include "rubato/cli/emulated_training.h"
#include "rubato/cli/scaling_pass.h"
#include "rubato/cli/speed_window.h"
#include "rubato/cli/worker_environment.h"
#include "rubato/launch/conductor.h"
#include "rubato/launch/device_seats.h"

namespace rubato {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr Duration kSnapshotPeriod = std::chrono::seconds(15);   // Where the job names none.
constexpr Duration kMeasuredPatience = std::chrono::seconds(2);  // With a controller that is away.
constexpr std::uint64_t kStepsOfAShape = 5;  // Fewer say too little about its speed.
constexpr int kParkedOnCpus = 2;

bool is_emulated(const wire::JobSpec& spec) { return spec.kind() == "emulated"; }

std::vector<std::string> devices_of(const wire::ConductOrder& order) {
  std::vector<std::string> devices(order.devices().begin(), order.devices().end());
  devices.resize(static_cast<std::size_t>(order.run().slots_size()));
  return devices;
}

// The program: the user's, or our own that pretends.
std::vector<std::string> command_of(const wire::JobSpec& spec) {
  if (!is_emulated(spec)) {
    return {spec.command().begin(), spec.command().end()};
  }
  std::vector<std::string> command{own_program(), "emulate", "--steps",
                                   fmt::format("{:.0f}", spec.steps())};
  for (const wire::SpeedPoint& point : spec.speeds()) {
    command.emplace_back("--speed");
    command.push_back(fmt::format("{}:{}", point.workers(), point.steps_per_second()));
  }
  return command;
}

// Most slots of the order that lie on one node.
int node_share(const wire::JobOrder& order) {
  std::map<std::string, int> counts;
  int most = 1;
  for (const wire::SlotName& slot : order.slots()) {
    most = std::max(most, ++counts[slot.node()]);
  }
  return most;
}

ConductorOptions options_of(const wire::ConductOrder& order, const ConductFiles& files) {
  const wire::JobSpec& spec = order.run().spec();
  ConductorOptions options{.command = command_of(spec),
                           .environment = job_environment(order, files),
                           .working_directory = job_directory(spec, files),
                           .directory = files.directory(),
                           .workers = order.run().slots_size(),
                           .seed = std::max<std::uint32_t>(1, spec.seed()),
                           .patience = std::chrono::seconds(5),
                           .snapshot_steps = spec.snapshot_steps(),
                           .keeps_snapshots = true};
  if (spec.restarts_max() > 0) {
    options.failures_max = spec.restarts_max();
  }
  if (is_emulated(spec)) {
    // There are many of them, and nobody waits for their words.
    options.heartbeat = std::chrono::milliseconds(250);
    options.patience = std::chrono::seconds(30);
  }
  return options;
}

// Whether the job may be measured with so many workers.
bool accepts(const wire::WorkerLimits& limits, int workers) {
  const auto& listed = limits.listed();
  return workers >= limits.min() &&
         (listed.empty() || std::ranges::find(listed, workers) != listed.end());
}

class ElasticJob final : public ConductedJob {
 public:
  explicit ElasticJob(const wire::ConductOrder& order) : order_(order) {
    seats_.offer(devices_of(order));
    begin_measuring();
  }

  [[nodiscard]] Status open(const ConductScene& scene) {
    crew_ = scene.crew;
    ConductorOptions options = options_of(order_, scene.files);
    // On a GPU even one who waits would be in the way.
    options.membership.parked_max = seats_.has_devices() ? 0 : kParkedOnCpus;
    takes_snapshots_ = options.snapshot_steps == 0;
    auto conductor =
        Conductor::open(std::move(options), scene.launcher,
                        {.on_profile = [this](const ShapeRecord& recent) { take_in(recent); },
                         .on_start = [this](WorkerId worker) { return seat(worker); },
                         .on_end = [this](WorkerId worker) { seats_.leave(worker); }});
    if (!conductor) {
      return conductor.error();
    }
    conductor_ = std::move(*conductor);
    return ok_status();
  }

  [[nodiscard]] bool turn(Duration wait, std::span<const int> also) override {
    const bool goes_on = conductor_->turn(wait, also);
    const auto moment = SteadyClock::now();
    if (takes_snapshots_ && moment - snapshot_ > kSnapshotPeriod) {
      snapshot_ = moment;
      conductor_->snapshot_now();
    }
    if (grows_back_at_ && moment > *grows_back_at_) {
      grows_back_at_.reset();
      conductor_->resize(seats_.slots(), seats_.misplaced());
    }
    return goes_on;
  }

  void obey(const wire::ConductOrder& order) override {
    order_ = order;
    seats_.offer(devices_of(order));
    grows_back_at_.reset();
    begin_measuring();
    if (crew_ != nullptr) {
      crew_->ordered(decided_at(order), seats_.slots());
    }
    conductor_->resize(seats_.slots(), seats_.misplaced());
  }

  void suspend(const std::string& reason) override { conductor_->suspend(reason); }
  void stop(const std::string& reason) override { conductor_->stop(reason); }

  [[nodiscard]] bool holds_no_more() const override {
    return static_cast<int>(conductor_->occupants().size()) <= seats_.slots() &&
           seats_.misplaced().empty();
  }

  [[nodiscard]] bool has_obeyed() const override {
    return conductor_->workers_training() == seats_.slots();
  }

  void describe(wire::JobReport& report) const override {
    const JobTimeline& timeline = conductor_->timeline();
    report.set_done(static_cast<double>(conductor_->step()));
    report.set_workers(conductor_->workers_training());
    report.set_speed(recent_.speed(conductor_->workers_training()));
    report.set_loss(timeline.loss);
    report.set_restarts(static_cast<std::uint32_t>(
        std::ranges::count_if(timeline.generations, &GenerationRecord::is_forced)));
    for (const GenerationRecord& record : timeline.generations) {
      if (record.entered != Duration{}) {
        report.set_generation(record.number);
        report.set_pause_seconds(to_seconds(record.pause));
      }
    }
    if (!timeline.stragglers.empty()) {
      report.set_note(timeline.stragglers.back().evidence);
    }
    report.set_is_measured(measurement_.has_value() && measurement_->is_done());
    for (const auto& [workers, speed] : speeds()) {
      wire::SpeedPoint& point = *report.add_measured();
      point.set_workers(workers);
      point.set_steps_per_second(speed);
    }
  }

  [[nodiscard]] const JobTimeline& timeline() const override { return conductor_->timeline(); }

 private:
  void begin_measuring() {
    measurement_.reset();
    if (order_.run().measure()) {
      auto counts = shrinking_counts(seats_.slots(), node_share(order_.run()));
      std::erase_if(counts,
                    [&](int count) { return !accepts(order_.run().spec().workers(), count); });
      measurement_.emplace(ScalingSchedule{.workers = std::move(counts)});
    }
  }

  void take_in(const ShapeRecord& recent) {
    recent_.add(recent.workers, static_cast<double>(recent.steps), recent.total_seconds);
    if (!measurement_ || measurement_->is_done()) {
      return;
    }
    if (const auto size = next_size(recent, *measurement_)) {
      conductor_->resize(*size, seats_.misplaced());
    }
    if (measurement_->is_done()) {
      grows_back_at_ = SteadyClock::now() + kMeasuredPatience;
    }
  }

  Environment seat(WorkerId worker) {
    const std::string& device = seats_.seat(worker);
    return device.empty() ? Environment{} : Environment{{"CUDA_VISIBLE_DEVICES", device}};
  }

  // By number of workers: what was measured on purpose counts more than what was seen in passing.
  [[nodiscard]] std::map<int, double> speeds() const {
    std::map<int, ShapeRecord> shapes;
    for (const ShapeRecord& shape : timeline().profile) {
      shapes[shape.workers].steps += shape.steps;
      shapes[shape.workers].total_seconds += shape.total_seconds;
    }
    std::map<int, double> found;
    for (const auto& [workers, shape] : shapes) {
      if (shape.steps >= kStepsOfAShape && shape.total_seconds > 0) {
        found[workers] = 1 / shape.step_seconds();
      }
    }
    if (measurement_) {
      for (const WorkerSpeed& point : measurement_->measured()) {
        found[point.workers] = point.steps_per_second();
      }
    }
    return found;
  }

  wire::ConductOrder order_;
  EmulatedCrew* crew_ = nullptr;
  DeviceSeats seats_;
  SpeedWindow recent_;
  std::optional<ScalingMeasurement> measurement_;
  std::optional<SteadyClock::time_point> grows_back_at_;
  bool takes_snapshots_ = false;
  SteadyClock::time_point snapshot_ = SteadyClock::now();
  std::unique_ptr<Conductor> conductor_;  // Ends first: it calls us.
};

}  // namespace

Result<std::unique_ptr<ConductedJob>> conduct_elastic(const wire::ConductOrder& order,
                                                      const ConductScene& scene) {
  auto job = std::make_unique<ElasticJob>(order);
  if (Status opened = job->open(scene); !opened) {
    return opened.error();
  }
  return std::unique_ptr<ConductedJob>(std::move(job));
}

}  // namespace rubato
