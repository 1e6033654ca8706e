#include "loaded_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <string_view>
#include <sys/resource.h>
#include <variant>

#include "rubato/base/check.h"
#include "rubato/predict/speed_table.h"

namespace rubato {
namespace {

constexpr Duration kSlot = std::chrono::seconds{60};
constexpr double kRunSeconds = 1e9;  // On one GPU; no job gets through that in a benchmark.
constexpr int kGpusPerNode = 8;
constexpr int kPeriod = 16;  // Deadlines differ in this many ways.

struct Kind {
  std::string_view model;
  int batch;
  double single;  // Steps per second on one GPU.
};

constexpr std::array<Kind, 3> kKinds = {
    {{"convnet", 128, 5.0}, {"language", 256, 3.4}, {"speech", 64, 2.1}}};

Topology machines(int gpus) {
  const NodeGroup group{.nodes = std::max(1, gpus / kGpusPerNode), .gpus_per_node = kGpusPerNode};
  return Topology(std::span(&group, 1));
}

Engine make_engine(const LoadOptions& options) {
  const Topology topology = machines(options.gpus);
  auto engine = Engine::make(topology, SpeedBook(sample_speeds(), topology), options.policy,
                             EngineOptions{.slot = kSlot});
  RUBATO_CHECK(engine.ok());
  return *std::move(engine);
}

// GPUs a job needs all the time to be done by its deadline, if its speed grew with them in full.
double needed(const LoadOptions& options) {
  const double even = static_cast<double>(options.gpus) / options.jobs;
  return options.pressure == Pressure::Congested ? even : std::clamp(even / 4, 0.1, 4.0);
}

bool changes_workers(const Command& command) {
  return !std::holds_alternative<Answer>(command) && !std::holds_alternative<Wake>(command);
}

}  // namespace

LoadedEngine::LoadedEngine(const LoadOptions& options)
    : options_(options), engine_(make_engine(options)) {
  for (int i = 0; i < options_.jobs; ++i) {
    tell(Arrival{.job = next_job()});
  }
  pass_until(now_ + 10 * kSlot);
  measures_ = true;
}

Engine LoadedEngine::fresh_engine() const { return make_engine(options_); }

Job LoadedEngine::next_job() {
  const Kind& kind = kKinds[next_ % kKinds.size()];
  const double spread = 0.75 + 0.5 * static_cast<double>(next_ * 7 % kPeriod) / kPeriod;
  active_.push_back(JobId{next_});
  return Job{.id = JobId{next_++},
             .job_class = JobClass::Soft,
             .arrival = now_,
             .deadline = now_ + from_seconds(kRunSeconds / needed(options_) * spread),
             .work = kind.single * kRunSeconds,
             .model = std::string(kind.model),
             .batch = kind.batch,
             .requested = 1 << (next_ % 4)};
}

// Needs the most GPUs it can use from now on; there are not so many free.
Job LoadedEngine::urgent_job() {
  Job job = next_job();
  active_.pop_back();
  const SpeedBook& speeds = engine_.state().speeds;
  const double peak = speeds.curve(speeds.find(job), PoolId{0}).peak().speed;
  job.deadline = now_ + from_seconds(1.01 * job.work / peak);
  return job;
}

double LoadedEngine::tell(const Event& event) {
  if (std::holds_alternative<Tick>(event)) {
    wake_ = kNever;
  }
  const double before = thread_seconds();
  const Commands commands = engine_.on(now_, event);
  const double seconds = thread_seconds() - before;
  for (const Command& command : commands) {
    RUBATO_CHECK(!std::holds_alternative<Alarm>(command));
    if (const auto* wake = std::get_if<Wake>(&command)) {
      wake_ = wake->at;
    }
  }
  if (measures_) {
    decisions_.push_back(seconds);
    changes_ += std::ranges::count_if(commands, changes_workers);
  }
  return seconds;
}

double LoadedEngine::hold_round() { return wake_ <= now_ ? tell(Tick{}) : 0; }

void LoadedEngine::pass_until(Instant moment) {
  while (wake_ < moment) {
    now_ = std::max(now_, wake_);
    tell(Tick{});
  }
  now_ = moment;
}

double LoadedEngine::come_and_go() {
  pass_until(now_ + kSlot);
  const Arrival urgent{.job = urgent_job()};
  double seconds = tell(urgent);
  seconds += hold_round();
  pass_until(now_ + kSlot);
  seconds += tell(Completion{.job = urgent.job.id, .outcome = Outcome::Cancelled});
  return seconds + hold_round();
}

double LoadedEngine::turn_over() {
  pass_until(now_ + kSlot);
  double seconds = tell(Completion{.job = active_.front()});
  active_.pop_front();
  seconds += hold_round();
  pass_until(now_ + kSlot);
  const Arrival arrival{.job = next_job()};
  seconds += tell(arrival);
  seconds += hold_round();
  return options_.pressure == Pressure::Congested ? seconds + come_and_go() : seconds;
}

std::vector<double> LoadedEngine::sorted_decisions() const {
  std::vector<double> sorted = decisions_;
  std::ranges::sort(sorted);
  return sorted;
}

double percentile_of(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) {
    return 0;
  }
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

double most_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

double thread_seconds() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

}  // namespace rubato
