// Puts load on a running platform and prints how it bore it, as JSON: agents with a thousand
// workers that report, and first jobs until so many wait; or, on a platform where they do,
// submissions as fast as they are answered, then at a given rate while quotes are asked for.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "emulated_agent.h"
#include "rest_load.h"

namespace rubato {
namespace {

struct LoadFlags {
  std::string url{};
  std::string agents{};
  int agent_count = 1;
  int nodes = 125;  // In all.
  int slots = 8;
  int queued = 10'000;
  std::uint64_t first = 0;
  int clients = 24;
  int askers = 2;
  double seconds = 10;
  double rate = 1000;
  double quote_rate = 50;
};

// `nodes` machines, dealt out to the agents in turn; the names are those of `rubato up --emulate`.
std::vector<std::unique_ptr<EmulatedAgent>> start_agents(const LoadFlags& flags) {
  std::vector<std::unique_ptr<EmulatedAgent>> agents;
  for (int i = 0; i < flags.agent_count; ++i) {
    EmulatedAgentOptions options{.controller = flags.agents, .name = fmt::format("load{}", i)};
    for (int node = i; node < flags.nodes; node += flags.agent_count) {
      wire::AgentNode& each = options.nodes.emplace_back();
      each.set_name(fmt::format("load{}-{}", i, node));
      each.set_emulated(true);
      for (int slot = 0; slot < flags.slots; ++slot) {
        each.add_slots()->set_index(slot);
      }
    }
    agents.push_back(std::make_unique<EmulatedAgent>(std::move(options)));
  }
  return agents;
}

nlohmann::json latencies_json(const std::vector<double>& sorted) {
  return {{"count", sorted.size()},
          {"p50", percentile(sorted, 0.5)},
          {"p90", percentile(sorted, 0.9)},
          {"p99", percentile(sorted, 0.99)},
          {"max", percentile(sorted, 1)}};
}

nlohmann::json result_json(const LoadResult& result) {
  return {{"seconds", result.seconds},
          {"submitted", result.submitted},
          {"accepted", result.accepted},
          {"refused", result.refused},
          {"failed", result.failed},
          {"first_failure", result.first_failure},
          {"submissions_per_second", static_cast<double>(result.submitted) / result.seconds},
          {"submit_seconds", latencies_json(result.submit_latencies)},
          {"quote_seconds", latencies_json(result.quote_latencies)}};
}

/// What the agents did during one phase.
class ReportMeter {
 public:
  explicit ReportMeter(const std::vector<std::unique_ptr<EmulatedAgent>>& agents)
      : agents_(agents), before_(sent()) {}

  void put(nlohmann::json& phase) const {
    int workers = 0;
    int jobs = 0;
    double late = 0;
    for (const auto& agent : agents_) {
      workers += agent->workers();
      jobs += agent->jobs();
      late = std::max(late, agent->most_late());
    }
    phase["workers"] = workers;
    phase["jobs_running"] = jobs;
    phase["reports_per_second"] =
        static_cast<double>(sent() - before_) / phase.at("seconds").get<double>();
    phase["agent_most_late_seconds"] = late;
  }

 private:
  [[nodiscard]] std::uint64_t sent() const {
    std::uint64_t sum = 0;
    for (const auto& agent : agents_) {
      sum += agent->reports_sent();
    }
    return sum;
  }

  const std::vector<std::unique_ptr<EmulatedAgent>>& agents_;
  std::uint64_t before_;
};

int run_load(const LoadFlags& flags) {
  const auto server = parse_web_address(flags.url);
  if (!server) {
    fmt::print(stderr, "live_load: {}\n", server.error().message);
    return 64;
  }
  const auto agents = start_agents(flags);
  nlohmann::json phases = nlohmann::json::object();
  std::uint64_t first = flags.first;
  const auto phase = [&](const char* name, LoadOptions options) {
    options.server = *server;
    options.submitters = flags.clients;
    options.quote_rate = flags.quote_rate;
    options.first = first;
    const ReportMeter meter(agents);
    const LoadResult result = put_load(options);
    first += result.submitted;
    phases[name] = result_json(result);
    meter.put(phases[name]);
    fmt::print(stderr, "live_load: {}: {:.0f} submissions/s, quotes p99 {:.1f} ms\n", name,
               static_cast<double>(result.submitted) / result.seconds,
               percentile(result.quote_latencies, 0.99) * 1e3);
  };
  const auto wanted = static_cast<std::uint64_t>(flags.queued) +
                      static_cast<std::uint64_t>(flags.nodes * flags.slots);
  if (flags.first == 0) {
    phase("fill", {.accepted = wanted});
  } else {
    phase("fastest", {.seconds = flags.seconds});
    phase("steady", {.askers = flags.askers, .seconds = flags.seconds, .rate = flags.rate});
  }
  fmt::print("{}\n", phases.dump(2));
  return 0;
}

}  // namespace
}  // namespace rubato

int main(int argc, char** argv) {
  CLI::App app("Puts load on a running platform; see bench/live/run.py");
  rubato::LoadFlags flags;
  app.add_option("--url", flags.url, "Of the platform")->required();
  app.add_option("--agents", flags.agents, "host:port where it listens for agents")->required();
  app.add_option("--agent-count", flags.agent_count, "Agents");
  app.add_option("--nodes", flags.nodes, "Emulated machines of all agents");
  app.add_option("--slots", flags.slots, "Workers of each machine");
  app.add_option("--queued", flags.queued, "Jobs that wait before it is measured");
  app.add_option("--first", flags.first,
                 "Number of the first job; zero: only fill the queue, else only measure");
  app.add_option("--clients", flags.clients, "Connections that submit");
  app.add_option("--askers", flags.askers, "Connections that ask for quotes");
  app.add_option("--seconds", flags.seconds, "Of each measured phase");
  app.add_option("--rate", flags.rate, "Submissions per second while quotes are measured");
  app.add_option("--quote-rate", flags.quote_rate, "Quotes per second");
  CLI11_PARSE(app, argc, argv);
  return rubato::run_load(flags);
}
