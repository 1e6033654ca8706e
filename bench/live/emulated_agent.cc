#include "emulated_agent.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace rubato {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPhases = 10;  // Reports of different jobs are spread over the second.
constexpr std::chrono::milliseconds kPhase{1000 / kPhases};
constexpr std::chrono::seconds kAlive{2};

double speed_of(const wire::JobOrder& order) {
  double speed = 0;
  for (const wire::SpeedPoint& point : order.spec().speeds()) {
    speed = point.workers() <= order.slots_size() ? point.steps_per_second() : speed;
  }
  return speed;
}

int phase_of(const std::string& job) { return std::stoi(job) % kPhases; }

}  // namespace

EmulatedAgent::EmulatedAgent(EmulatedAgentOptions options) : options_(std::move(options)) {
  line_ = std::make_unique<AgentClient>(
      AgentClientOptions{.controller = options_.controller},
      AgentClientEvents{.on_order = [this](const wire::ToAgent& message) { obey(message); },
                        .on_connected = [this] { greet(); },
                        .on_broken = [](const std::string&) {}});
  thread_ = std::jthread([this](const std::stop_token& stop) { tick(stop); });
}

EmulatedAgent::~EmulatedAgent() {
  thread_.request_stop();
  thread_.join();
  line_.reset();
}

int EmulatedAgent::workers() const {
  const std::lock_guard lock(mutex_);
  int workers = 0;
  for (const auto& [name, job] : jobs_) {
    workers += job.order.slots_size();
  }
  return workers;
}

int EmulatedAgent::jobs() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(jobs_.size());
}

double EmulatedAgent::most_late() const {
  const std::lock_guard lock(mutex_);
  return late_;
}

// The line may connect before it is ours to use: then the first tick greets.
void EmulatedAgent::greet() {
  const std::lock_guard lock(mutex_);
  if (line_ == nullptr) {
    return;
  }
  wire::FromAgent message;
  wire::AgentHello& hello = *message.mutable_hello();
  hello.set_agent(options_.name);
  hello.mutable_nodes()->Assign(options_.nodes.begin(), options_.nodes.end());
  for (const auto& [name, job] : jobs_) {
    wire::AgentJob& each = *hello.add_jobs();
    each.set_job(name);
    each.set_order(job.order.order());
    *each.mutable_slots() = job.order.slots();
    each.set_done(job.done);
  }
  line_->say(message);
}

void EmulatedAgent::obey(const wire::ToAgent& message) {
  const std::lock_guard lock(mutex_);
  if (message.has_run()) {
    run(message.run());
  } else if (message.has_stop()) {
    const auto job = jobs_.find(message.stop().job());
    end(message.stop().job(), message.stop().order(), "cancelled",
        job == jobs_.end() ? 0 : job->second.done);
  }
}

void EmulatedAgent::run(const wire::JobOrder& order) {
  CountingJob& job = jobs_[order.job()];
  if (order.order() < job.order.order()) {
    return;
  }
  job.order = order;
  if (order.slots().empty()) {
    end(order.job(), order.order(), "suspended", job.done);
    return;
  }
  wire::FromAgent message;
  message.mutable_held()->set_job(order.job());
  message.mutable_held()->set_order(order.order());
  *message.mutable_held()->mutable_slots() = order.slots();
  line_->say(message);
}

void EmulatedAgent::end(const std::string& job, std::uint64_t order, const std::string& outcome,
                        double done) {
  wire::FromAgent message;
  message.mutable_ended()->set_job(job);
  message.mutable_ended()->set_order(order);
  message.mutable_ended()->set_outcome(outcome);
  message.mutable_ended()->set_cause(outcome);
  message.mutable_ended()->set_done(done);
  line_->say(message);
  jobs_.erase(job);
}

void EmulatedAgent::report(int phase) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> finished;
  for (auto& [name, job] : jobs_) {
    if (phase_of(name) != phase) {
      continue;
    }
    const double speed = speed_of(job.order);
    job.done += speed;
    if (job.done >= job.order.spec().steps()) {
      finished.push_back(name);
      continue;
    }
    wire::FromAgent message;
    wire::JobReport& report = *message.mutable_report();
    report.set_job(name);
    report.set_order(job.order.order());
    report.set_done(job.done);
    report.set_speed(speed);
    report.set_workers(job.order.slots_size());
    report.set_generation(job.order.order());
    line_->say(message);
    ++reports_;
  }
  for (const std::string& name : finished) {
    const CountingJob& job = jobs_.at(name);
    end(name, job.order.order(), "finished", job.order.spec().steps());
  }
}

void EmulatedAgent::tick(const std::stop_token& stop) {
  Clock::time_point due = Clock::now();
  Clock::time_point next_alive = due;
  for (int phase = 0; !stop.stop_requested(); phase = (phase + 1) % kPhases) {
    due += kPhase;
    std::this_thread::sleep_until(due);
    {
      const std::lock_guard lock(mutex_);
      late_ = std::max(late_, std::chrono::duration<double>(Clock::now() - due).count());
    }
    report(phase);
    if (Clock::now() >= next_alive) {
      next_alive += kAlive;
      wire::FromAgent message;
      message.mutable_alive();
      line_->say(message);
    }
  }
}

}  // namespace rubato
