// The agent of one machine: runs jobs on its slots as the controller orders, each conducted by a
// process of its own that outlives the agent, and tells the controller what becomes of them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/base/time.h"
#include "rubato/live/agent/agent_book.h"
#include "rubato/live/agent/conduct_process.h"
#include "rubato/live/service/agent_port.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

struct AgentOptions {
  AgentOffer offer{};
  std::string directory{};  // Holds one directory per job, named as the job.
  std::string shared{};     // Seen by all agents; empty: jobs cannot go on elsewhere.
  std::string program{};    // The `rubato` that conducts jobs.
  Duration alive = std::chrono::seconds(2);   // Between signs of life.
  Duration resend = std::chrono::seconds(5);  // Of ends that the controller has not acknowledged.
};

/// Works on a thread of its own, which also calls the listener. When this object goes, its jobs go
/// on; the next agent with the same directory finds them.
class Agent final : public AgentPort {
 public:
  /// Looks for jobs that still run and says hello.
  [[nodiscard]] static Result<std::unique_ptr<Agent>> open(AgentOptions options,
                                                           AgentListener listener);
  ~Agent() override;

  void send(const wire::ToAgent& message) override;
  /// Says hello again: the controller may have forgotten us. From any thread, returns at once.
  void greet();

 private:
  using Clock = std::chrono::steady_clock;

  Agent(AgentOptions options, AgentListener listener, Descriptor wake);

  void run(const std::stop_token& stop);
  void find_jobs();
  void find_job(const std::string& name);
  void wait();
  void take_messages();
  void poll_supervisor(const std::string& job);
  void report_supervisor_exit(const std::string& job);
  void send_heartbeat();
  void carry_out(const AgentActions& actions);
  void start(const std::string& job);
  void keep(const wire::ConductOrder& order);
  void tell_metrics(const std::string& job);
  void fail(const wire::ConductOrder& order, const Error& error);
  [[nodiscard]] ConductFiles files_of(const std::string& job) const;
  void ring();

  AgentOptions options_;
  AgentListener listener_;
  Descriptor wake_;  // Readable when there are messages.
  AgentBook book_;
  std::map<std::string, ConductProcess> conducts_{};  // Of jobs that run.
  Clock::time_point next_alive_{};
  Clock::time_point next_resend_{};
  std::uint64_t alive_count_ = 0;

  std::mutex mutex_;
  std::vector<wire::ToAgent> messages_{};
  bool hello_pending_ = true;
  std::jthread thread_{};
};

}  // namespace rubato
