#include "rubato/report/perfetto.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "rubato/metrics/summary.h"
#include "rubato/report/escape.h"

namespace rubato {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} * 1024;

// Collects events into pieces and puts the commas between them.
class EventWriter {
 public:
  explicit EventWriter(const TextSink& sink) : sink_(sink) {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  }

  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    if (text_.size() >= kPieceBytes) {
      flush();
    }
  }

  void finish() {
    text_ += "\n]}\n";
    flush();
  }

 private:
  void flush() {
    sink_(text_);
    text_.clear();
  }

  const TextSink& sink_;  // Lives for one call, as this does.
  std::string text_;
  bool is_first_ = true;
};

// One run, and where its processes start: the cluster first, then the nodes.
struct RunScope {
  const RunReport& run;
  const Topology& topology;
  std::size_t first_process = 1;

  [[nodiscard]] const History& history() const { return *run.history; }
  [[nodiscard]] std::size_t process_of(NodeId node) const { return first_process + 1 + node.value; }
  [[nodiscard]] std::int64_t micros(Instant moment) const {
    return (moment - history().start).count();
  }
  [[nodiscard]] std::string name_of(const JobRecord& job) const {
    const auto at = static_cast<std::size_t>(&job - history().jobs.data());
    return at < history().names.size() ? history().names[at] : fmt::format("job {}", job.id.value);
  }
  [[nodiscard]] const JobRecord* find(JobId id) const {
    const auto found = std::ranges::lower_bound(history().jobs, id, {}, &JobRecord::id);
    return found != history().jobs.end() && found->id == id ? &*found : nullptr;
  }
};

void name_process(EventWriter& out, std::size_t process, std::string_view name) {
  out.add(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", process,
          json_quoted(name));
  out.add(R"({{"ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}}}})",
          process);
}

void name_tracks(EventWriter& out, const RunScope& scope) {
  name_process(out, scope.first_process, scope.run.policy + ": cluster");
  for (const Node& node : scope.topology.nodes()) {
    const std::string& type = scope.topology.pool(node.pool).gpu_type;
    name_process(out, scope.process_of(node.id),
                 fmt::format("{}: node {}{}{}", scope.run.policy, node.id.value,
                             type.empty() ? "" : " ", type));
    for (int gpu = 0; gpu < node.gpus; ++gpu) {
      out.add(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"GPU {}"}}}})",
              scope.process_of(node.id), gpu + 1, gpu);
    }
  }
}

// What is shown when a slice is selected.
std::string slice_details(const RunScope& scope, const GanttBar& bar, const JobRecord* job) {
  std::string details =
      fmt::format(R"({{"job":{},"workers":{})", bar.job.value, bar.placement.gpus());
  if (job != nullptr) {
    details += fmt::format(R"(,"class":"{}")", to_string(job->job_class));
    if (job->deadline != kNever) {
      details += fmt::format(R"(,"deadline_us":{})", scope.micros(job->deadline));
    }
    if (job->promised != kNever) {
      details += fmt::format(R"(,"promised_us":{})", scope.micros(job->promised));
    }
  }
  return details + "}";
}

void add_bar(EventWriter& out, const RunScope& scope, const GanttBar& bar) {
  const JobRecord* job = scope.find(bar.job);
  const std::string name =
      json_quoted(job != nullptr ? scope.name_of(*job) : fmt::format("job {}", bar.job.value));
  const std::string details = slice_details(scope, bar, job);
  for (const GpuRange& range : bar.placement.ranges) {
    for (int gpu = range.first; gpu < range.first + range.count; ++gpu) {
      const Node& node = scope.topology.node_of(bar.placement.pool, gpu);
      out.add(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"args":{}}})",
              scope.process_of(node.id), gpu - node.first_gpu + 1, scope.micros(bar.from),
              (bar.to - bar.from).count(), name, details);
    }
  }
}

void add_counters(EventWriter& out, const RunScope& scope) {
  for (const UseSample& sample : scope.history().use) {
    const std::int64_t at = scope.micros(sample.at);
    out.add(R"({{"ph":"C","pid":{},"ts":{},"name":"GPUs in use","args":{{"GPUs":{}}}}})",
            scope.first_process, at, sample.gpus_used);
    out.add(R"({{"ph":"C","pid":{},"ts":{},"name":"GPUs up","args":{{"GPUs":{}}}}})",
            scope.first_process, at, sample.gpus_up);
    out.add(R"({{"ph":"C","pid":{},"ts":{},"name":"jobs","args":{{"running":{},"waiting":{}}}}})",
            scope.first_process, at, sample.running, sample.waiting);
  }
}

void add_deadlines(EventWriter& out, const RunScope& scope) {
  out.add(R"({{"ph":"M","pid":{},"tid":1,"name":"thread_name","args":{{"name":"deadlines"}}}})",
          scope.first_process);
  for (const JobRecord& job : scope.history().jobs) {
    if (is_deadline_job(job)) {
      const std::string name =
          fmt::format("{} {}", job.met_deadline() ? "met:" : "missed:", scope.name_of(job));
      out.add(R"({{"ph":"i","s":"t","pid":{},"tid":1,"ts":{},"name":{},"args":{{"job":{}}}}})",
              scope.first_process, scope.micros(job.deadline), json_quoted(name), job.id.value);
    }
  }
}

}  // namespace

void write_perfetto(std::span<const RunReport> runs, const Topology& topology,
                    const TextSink& sink) {
  EventWriter out(sink);
  std::size_t next_process = 1;
  for (const RunReport& run : runs) {
    if (run.history == nullptr) {
      continue;
    }
    const RunScope scope{.run = run, .topology = topology, .first_process = next_process};
    next_process += 1 + topology.nodes().size();
    name_tracks(out, scope);
    add_counters(out, scope);
    add_deadlines(out, scope);
    for (const GanttBar& bar : run.history->bars) {
      add_bar(out, scope, bar);
    }
  }
  out.finish();
}

std::string perfetto_trace(std::span<const RunReport> runs, const Topology& topology) {
  std::string text;
  write_perfetto(runs, topology, [&text](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace rubato
