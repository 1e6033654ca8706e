// An agent whose jobs only count: it obeys orders and reports each job every second over the same
// remote call as a real agent, so that one process can stand for a thousand workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rubato/live/agent/agent_rpc.h"
#include "rubato/wire/agent.pb.h"

namespace rubato {

struct EmulatedAgentOptions {
  std::string controller{};  // `host:port` of its line for agents.
  std::string name{};
  std::vector<wire::AgentNode> nodes{};
};

class EmulatedAgent {
 public:
  explicit EmulatedAgent(EmulatedAgentOptions options);
  ~EmulatedAgent();

  [[nodiscard]] std::uint64_t reports_sent() const { return reports_; }
  /// Workers that its jobs have now.
  [[nodiscard]] int workers() const;
  [[nodiscard]] int jobs() const;
  /// The longest that a report was late, in seconds: a generator that lags measures itself.
  [[nodiscard]] double most_late() const;

 private:
  struct CountingJob {
    wire::JobOrder order{};
    double done = 0;
  };

  void obey(const wire::ToAgent& message);
  void run(const wire::JobOrder& order);
  void end(const std::string& job, std::uint64_t order, const std::string& outcome, double done);
  void greet();
  void tick(const std::stop_token& stop);
  void report(int phase);

  EmulatedAgentOptions options_;
  mutable std::mutex mutex_{};
  std::map<std::string, CountingJob> jobs_{};
  std::atomic<std::uint64_t> reports_ = 0;
  double late_ = 0;
  std::unique_ptr<AgentClient> line_{};
  std::jthread thread_{};
};

}  // namespace rubato
