// A pretended agent in pretended time: carries out a controller's orders late, trains by true
// speeds, and remembers every input, so that tests can look at what happened and do it again.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "rubato/base/random.h"
#include "rubato/live/controller/controller.h"
#include "rubato/live/service/pretended_job_test.h"

namespace rubato {

/// One input and what came of it.
struct PlayedInput {
  Instant at{};
  wire::JournalInput input{};
  Effects effects{};
};

/// A cluster of one agent with `nodes` nodes of `slots` slots.
class ControllerWorld {
 public:
  ControllerWorld(int nodes, int slots, std::uint64_t seed, double firm_quotes = 0)
      : options_(options_of(nodes, slots, firm_quotes)),
        controller_(Controller::make(options_).value()),
        random_(seed) {
    say_hello();
  }

  static ControllerOptions options_of(int nodes, int slots, double firm_quotes = 0) {
    ControllerOptions options;
    options.firm_quotes = firm_quotes;
    for (int i = 0; i < nodes; ++i) {
      options.nodes.push_back({.name = fmt::format("n{}", i), .agent = "a", .slots = slots});
    }
    return options;
  }

  [[nodiscard]] Controller& controller() { return controller_; }
  [[nodiscard]] const ControllerOptions& options() const { return options_; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] const std::vector<PlayedInput>& history() const { return history_; }
  /// Sentences about what must not happen; empty if all is well.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

  /// A job with speeds in proportion to the workers' 0.9th power. Seconds of zero: no deadline.
  JobId submit(double steps, double deadline_seconds, bool is_speed_known = true,
               const std::string& max_runtime = "", const std::string& tenant = "") {
    const JobId id{next_job_++};
    wire::JournalInput input;
    wire::Submitted& submitted = *input.mutable_submitted();
    submitted.set_job(id.value);
    submitted.set_user("ann");
    submitted.mutable_spec()->set_steps(steps);
    submitted.mutable_spec()->set_max_runtime(max_runtime);
    submitted.mutable_spec()->set_tenant(tenant);
    submitted.mutable_spec()->set_model(is_speed_known ? "known" : fmt::format("m{}", id.value));
    if (is_speed_known) {
      const auto points = true_speeds();
      submitted.mutable_known()->Assign(points.begin(), points.end());
    }
    if (deadline_seconds > 0) {
      submitted.set_deadline_us((now_ + from_seconds(deadline_seconds)).time_since_epoch().count());
    }
    play(input);
    return id;
  }

  void play(const wire::JournalInput& input) {
    history_.push_back({.at = now_, .input = input, .effects = controller_.on(now_, input)});
    for (const AgentOrder& order : history_.back().effects.orders) {
      mail_.emplace_back(now_ + from_seconds(random_.uniform(0.01, 0.3)), order.message);
    }
  }

  /// Kills what runs a job; it is reported as lost.
  void lose(JobId id) {
    PretendedJob& job = running_[id];
    if (job.slots.empty()) {
      return;
    }
    job.done = job.kept;
    job.slots.clear();
    report_end(id, job, "lost");
  }

  void run(double seconds) {
    const Instant end = now_ + from_seconds(seconds);
    while (now_ < end) {
      now_ += kTick;
      deliver();
      train();
      if (controller_.wake() <= now_) {
        wire::JournalInput input;
        input.mutable_woken();
        play(input);
      }
    }
  }

 private:
  static constexpr Duration kTick = std::chrono::milliseconds(50);

  void say_hello() {
    wire::JournalInput input;
    input.mutable_hello()->set_agent("a");
    for (const LiveNode& node : options_.nodes) {
      input.mutable_hello()->add_nodes()->set_name(node.name);
    }
    play(input);
  }

  void deliver() {
    for (std::size_t i = 0; i < mail_.size(); ++i) {
      if (mail_[i].first <= now_) {
        const wire::ToAgent message = mail_[i].second;
        mail_.erase(mail_.begin() + static_cast<std::ptrdiff_t>(i));
        i = static_cast<std::size_t>(-1);
        obey(message);
      }
    }
  }

  void obey(const wire::ToAgent& message) {
    if (message.has_stop()) {
      const JobId id{std::stoull(message.stop().job())};
      running_[id].order = message.stop().order();
      running_[id].slots.clear();
      running_[id].is_over = true;
      report_end(id, running_[id], "cancelled");
    }
    if (!message.has_run() || message.run().order() <= running_[job_of(message)].order) {
      return;
    }
    const JobId id = job_of(message);
    PretendedJob& job = running_[id];
    job.order = message.run().order();
    job.steps = message.run().spec().steps();
    job.measures = message.run().measure();
    if (job.is_over) {
      return;
    }
    const bool was_running = !job.slots.empty();
    job.slots.clear();
    for (const wire::SlotName& slot : message.run().slots()) {
      job.slots.emplace(slot.node(), slot.index());
    }
    check_slots();
    if (job.slots.empty()) {
      job.kept = job.done;
      report_end(id, job, "suspended");  // Also if it never began: its slots are free again.
      return;
    }
    job.busy_until = now_ + from_seconds(was_running ? 0.1 : 0.4);
    job.lately.resize(was_running ? job.lately.size() : 0);
    wire::JournalInput held;
    held.mutable_held()->set_job(std::to_string(id.value));
    held.mutable_held()->set_order(job.order);
    for (const auto& [node, index] : job.slots) {
      wire::SlotName& slot = *held.mutable_held()->add_slots();
      slot.set_node(node);
      slot.set_index(index);
    }
    play(held);
  }

  static JobId job_of(const wire::ToAgent& order) { return JobId{std::stoull(order.run().job())}; }

  void check_slots() {
    std::set<std::pair<std::string, int>> used;
    for (const auto& [id, job] : running_) {
      for (const auto& slot : job.slots) {
        if (!used.insert(slot).second) {
          faults_.push_back(fmt::format("slot {}/{} is used twice", slot.first, slot.second));
        }
      }
    }
  }

  void train() {
    for (auto& [id, job] : running_) {
      if (job.slots.empty() || job.is_over || now_ < job.busy_until) {
        continue;
      }
      const auto workers = static_cast<int>(job.slots.size());
      const double speed = true_speed(workers) * random_.uniform(0.98, 1.01);
      job.done = std::min(job.steps, job.done + speed * to_seconds(kTick));
      job.kept = job.done >= job.kept + 50 ? job.done : job.kept;
      note_steps(job, kToldAfter / kTick);
      if (told_steps(job) >= job.steps) {
        job.done = job.steps;
        job.slots.clear();
        job.is_over = true;
        report_end(id, job, "finished");
      } else if (now_ - job.reported >= std::chrono::seconds(1)) {
        report(id, job, workers);
      }
    }
  }

  void report(JobId id, PretendedJob& job, int workers) {
    job.reported = now_;
    wire::JournalInput input;
    wire::JobReport& report = *input.mutable_report();
    report.set_job(std::to_string(id.value));
    report.set_order(job.order);
    report.set_done(told_steps(job));
    report.set_speed(true_speed(workers));
    report.set_workers(workers);
    if (job.measures && now_ - job.busy_until > std::chrono::seconds(3)) {
      report.set_is_measured(true);
      for (const wire::SpeedPoint& point : true_speeds()) {
        if (point.workers() <= workers) {
          *report.add_measured() = point;
        }
      }
    }
    play(input);
  }

  void report_end(JobId id, const PretendedJob& job, const std::string& outcome) {
    wire::JournalInput input;
    wire::JobEnded& ended = *input.mutable_ended();
    ended.set_job(std::to_string(id.value));
    ended.set_order(job.order);
    ended.set_outcome(outcome);
    ended.set_done(job.done);
    play(input);
  }

  ControllerOptions options_;
  Controller controller_;
  Random random_;
  Instant now_{std::chrono::hours(24 * 365 * 50)};
  std::uint64_t next_job_ = 1;
  std::vector<std::pair<Instant, wire::ToAgent>> mail_;
  std::map<JobId, PretendedJob> running_;
  std::vector<PlayedInput> history_;
  std::vector<std::string> faults_;
};

}  // namespace rubato
