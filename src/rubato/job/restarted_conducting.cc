// A job that is ended and started again for each change, and keeps its state by itself.
#include <chrono>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rubato/job/conducted_job.h"
#include "rubato/job/speed_window.h"
#include "rubato/launch/restarted_job.h"

namespace rubato {
namespace {

constexpr int kRestartsDefault = 3;

RestartedJobOptions restart_options(const wire::ConductOrder& order, const ConductFiles& files) {
  const wire::JobSpec& spec = order.run().spec();
  return {.command = {spec.command().begin(), spec.command().end()},
          .environment = job_environment(order, files),
          .working_directory = job_directory(spec, files),
          .run_id = order.run().job(),
          .workers = order.run().slots_size(),
          .restarts_max = spec.restarts_max() > 0 ? spec.restarts_max() : kRestartsDefault};
}

// Every rank sees the devices of all: such programs choose theirs by LOCAL_RANK.
std::string visible_devices(const wire::ConductOrder& order) {
  std::string list;
  for (const std::string& device : order.devices()) {
    if (!device.empty()) {
      list += (list.empty() ? "" : ",") + device;
    }
  }
  return list;
}

class RestartedConducting final : public ConductedJob {
 public:
  RestartedConducting(const wire::ConductOrder& order, const ConductScene& scene)
      : order_(order), files_(scene.files), job_(options(), scene.launcher) {}

  [[nodiscard]] bool turn(Duration wait, std::span<const int> also) override {
    const bool goes_on = job_.turn(wait, also);
    time_progress();
    return goes_on;
  }

  void obey(const wire::ConductOrder& order) override {
    const bool is_same = order.run().slots_size() == order_.run().slots_size() &&
                         std::equal(order.devices().begin(), order.devices().end(),
                                    order_.devices().begin(), order_.devices().end());
    order_ = order;
    if (!is_same || job_.is_changing()) {
      const int workers = order.run().slots_size();
      warn(fmt::format("resize to {}", workers));
      job_.restart(workers, fmt::format("resize to {}", workers));
    }
  }

  void suspend(const std::string& reason) override {
    warn(reason);
    job_.end(JobOutcome::Suspended, reason);
  }

  [[nodiscard]] bool park() override { return false; }

  void stop(const std::string& reason) override {
    warn(reason);
    job_.end(JobOutcome::Failed, reason);
  }

  void end_early(const std::string& reason) override {
    warn(reason);
    ends_early_ = true;
    job_.end(JobOutcome::Finished, reason);
  }

  [[nodiscard]] bool holds_no_more() const override { return !job_.is_changing(); }
  [[nodiscard]] bool has_obeyed() const override {
    return !job_.is_changing() && job_.workers_running() == order_.run().slots_size();
  }

  void describe(wire::JobReport& report) const override {
    const JobTimeline& timeline = job_.timeline();
    report.set_workers(job_.is_changing() ? 0 : job_.workers_running());
    report.set_generation(timeline.generations.size());
    report.set_restarts(
        static_cast<std::uint32_t>(std::max<std::size_t>(1, timeline.generations.size()) - 1));
    report.set_speed(recent_.speed(job_.workers_running()));
    const auto [done, loss] = progress();
    const bool is_over = timeline.outcome == JobOutcome::Finished && !ends_early_;
    report.set_done(is_over ? order_.run().spec().steps() : done);
    report.set_loss(loss);
  }

  [[nodiscard]] const JobTimeline& timeline() const override { return job_.timeline(); }

 private:
  RestartedJobOptions options() {
    RestartedJobOptions made = restart_options(order_, files_);
    made.on_start = [this](int /*rank*/) {
      const std::string devices = visible_devices(order_);
      return devices.empty() ? Environment{} : Environment{{"CUDA_VISIBLE_DEVICES", devices}};
    };
    return made;
  }

  // Steps and loss, as the program last wrote them down.
  [[nodiscard]] std::pair<double, double> progress() const {
    std::pair<double, double> read{};
    std::ifstream file(files_.progress());
    file >> read.first >> read.second;
    return read;
  }

  // Times the steps between two moments at which the program wrote that it had done some.
  void time_progress() {
    const double done = progress().first;
    const auto moment = std::chrono::steady_clock::now();
    if (job_.is_changing() || done < marked_done_) {
      marked_.reset();
    } else if (done > marked_done_) {
      if (marked_) {
        recent_.add(job_.workers_running(), done - marked_done_,
                    std::chrono::duration<double>(moment - *marked_).count());
      }
      marked_ = moment;
    }
    marked_done_ = done;
  }

  // Signals do not say why they come: the program may read it here.
  void warn(const std::string& reason) const { std::ofstream(files_.notice()) << reason << '\n'; }

  wire::ConductOrder order_;
  ConductFiles files_;
  RestartedJob job_;
  SpeedWindow recent_;
  bool ends_early_ = false;
  double marked_done_ = 0;
  std::optional<std::chrono::steady_clock::time_point> marked_;
};

}  // namespace

std::unique_ptr<ConductedJob> conduct_restarted(const wire::ConductOrder& order,
                                                const ConductScene& scene) {
  return std::make_unique<RestartedConducting>(order, scene);
}

}  // namespace rubato
