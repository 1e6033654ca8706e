// A job whose workers come and go while it trains.
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "rubato/job/conducted_job.h"
#include "rubato/job/emulated_crew.h"
#include "rubato/job/emulated_training.h"
#include "rubato/job/scaling_pass.h"
#include "rubato/job/speed_window.h"
#include "rubato/job/worker_environment.h"
#include "rubato/launch/conductor.h"
#include "rubato/launch/device_seats.h"
#include "rubato/launch/script/python_command.h"
#include "rubato/launch/script/script_run.h"

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

ConductorOptions conductor_options(const wire::ConductOrder& order, const ConductFiles& files) {
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

// A Python script that does not use our trainer runs once; everything else runs in every worker.
bool is_script(const wire::JobSpec& spec, const Environment& environment,
               const std::string& directory) {
  return !is_emulated(spec) && value_or(environment, "RUBATO_EVERY_WORKER", "") != "1" &&
         launch::script::runs_as_script(command_of(spec), directory, environment);
}

launch::script::ScriptRunOptions script_options(ConductorOptions options,
                                                const wire::JobSpec& spec) {
  return {.command = std::move(options.command),
          .environment = std::move(options.environment),
          .working_directory = std::move(options.working_directory),
          .directory = std::move(options.directory),
          .workers = options.workers,
          .seed = options.seed,
          .steps_declared = static_cast<std::uint64_t>(std::max(0.0, spec.steps())),
          .until = spec.until(),
          .snapshot_steps = options.snapshot_steps,
          .keeps_snapshots = true,
          .patience = options.patience,
          .error_exits_max = std::max(1, spec.restarts_max()),
          .failures_max = options.failures_max};
}

void describe_memory(const MemoryRecord& memory, wire::MemoryUse& to) {
  to.set_worker_bytes(static_cast<std::int64_t>(memory.worker_bytes));
  to.set_limit_bytes(static_cast<std::int64_t>(memory.limit_bytes));
  to.set_batch(static_cast<std::int64_t>(memory.batch));
  to.set_workers(memory.workers);
  to.set_pieces(memory.pieces);
  to.set_piece_rows(static_cast<std::int64_t>(memory.piece_rows));
  to.set_text(to_text(memory));
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
    sized_to_ = seats_.slots();
    begin_measuring();
  }

  [[nodiscard]] Status open(const ConductScene& scene) {
    crew_ = scene.crew;
    metrics_ = scene.metrics;
    ConductorOptions options = conductor_options(order_, scene.files);
    takes_snapshots_ = options.snapshot_steps == 0;
    if (is_script(order_.run().spec(), options.environment, options.working_directory)) {
      auto run = launch::script::ScriptRun::open(
          script_options(std::move(options), order_.run().spec()), scene.launcher, events());
      if (!run) {
        return run.error();
      }
      script_ = run->get();
      run_ = std::move(*run);
      return ok_status();
    }
    // On a GPU even one who waits would be in the way.
    options.membership.parked_max = seats_.has_devices() ? 0 : kParkedOnCpus;
    auto conductor = Conductor::open(std::move(options), scene.launcher, events());
    if (!conductor) {
      return conductor.error();
    }
    run_ = std::move(*conductor);
    return ok_status();
  }

  [[nodiscard]] bool turn(Duration wait, std::span<const int> also) override {
    const bool goes_on = run_->turn(wait, also);
    const auto moment = SteadyClock::now();
    if (takes_snapshots_ && moment - snapshot_ > kSnapshotPeriod) {
      snapshot_ = moment;
      run_->snapshot_now();
    }
    if (grows_back_at_ && moment > *grows_back_at_) {
      grows_back_at_.reset();
      resize(seats_.slots());
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
    resize(seats_.slots());
  }

  void suspend(const std::string& reason) override { run_->suspend(reason); }
  // The memory of a device is not free while a process has it.
  [[nodiscard]] bool park() override {
    if (script_ == nullptr || !order_.may_park() || seats_.has_devices()) {
      return false;
    }
    seats_.offer({});
    measurement_.reset();
    grows_back_at_.reset();
    script_->park();
    return true;
  }
  void stop(const std::string& reason) override { run_->stop(reason); }
  void end_early(const std::string& reason) override { run_->end_early(reason); }

  [[nodiscard]] bool holds_no_more() const override {
    return run_->slots_held() <= seats_.slots() && seats_.misplaced().empty();
  }

  [[nodiscard]] bool has_obeyed() const override {
    if (seats_.slots() == 0) {
      return script_ != nullptr && script_->is_parked();
    }
    return sized_to_ == seats_.slots() && run_->has_resized();
  }

  void describe(wire::JobReport& report) const override {
    const JobTimeline& timeline = run_->timeline();
    report.set_done(static_cast<double>(run_->step()));
    report.set_workers(run_->workers_training());
    report.set_speed(recent_.speed(run_->workers_training()));
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
    } else if (!timeline.notices.empty()) {
      report.set_note(timeline.notices.back().text);
    }
    if (timeline.memory.worker_bytes > 0) {
      describe_memory(timeline.memory, *report.mutable_memory());
    }
    report.set_is_measured(measurement_.has_value() && measurement_->is_done());
    for (const auto& [workers, speed] : speeds()) {
      wire::SpeedPoint& point = *report.add_measured();
      point.set_workers(workers);
      point.set_steps_per_second(speed);
    }
  }

  [[nodiscard]] const JobTimeline& timeline() const override { return run_->timeline(); }

 private:
  TrainingRunEvents events() {
    return {.on_profile = [this](const ShapeRecord& recent) { take_in(recent); },
            .on_start = [this](WorkerId worker) { return seat(worker); },
            .on_end = [this](WorkerId worker) { seats_.leave(worker); },
            .on_metrics = [this](std::span<const MetricValue> values) { take_in(values); }};
  }

  void resize(int workers) {
    sized_to_ = workers;
    run_->resize(workers, seats_.misplaced());
  }

  void begin_measuring() {
    measurement_.reset();
    if (order_.run().measure()) {
      auto counts = shrinking_counts(seats_.slots(), node_share(order_.run()));
      std::erase_if(counts,
                    [&](int count) { return !accepts(order_.run().spec().workers(), count); });
      measurement_.emplace(ScalingSchedule{.workers = std::move(counts)});
    }
  }

  void take_in(std::span<const MetricValue> values) {
    for (const MetricValue& each : values) {
      metrics_->log(each.name, each.value, static_cast<std::int64_t>(each.step));
    }
  }

  void take_in(const ShapeRecord& recent) {
    recent_.add(recent.workers, static_cast<double>(recent.steps), recent.total_seconds);
    if (!measurement_ || measurement_->is_done()) {
      return;
    }
    if (const auto size = next_size(recent, *measurement_)) {
      resize(*size);
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
  launch::metrics::JobMetrics* metrics_ = nullptr;
  DeviceSeats seats_;
  SpeedWindow recent_;
  std::optional<ScalingMeasurement> measurement_;
  std::optional<SteadyClock::time_point> grows_back_at_;
  int sized_to_ = 0;  // Workers that were last asked for.
  bool takes_snapshots_ = false;
  SteadyClock::time_point snapshot_ = SteadyClock::now();
  std::unique_ptr<TrainingRun> run_;             // Ends first: it calls us.
  launch::script::ScriptRun* script_ = nullptr;  // The same, if it is one.
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
