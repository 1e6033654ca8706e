// What an agent knows of its jobs, and what follows from what it hears: a pure state machine. It
// says what must be written down, which conducting process to start or to tell, and what the
// controller hears; who does all that is someone else's matter (agent.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/wire/agent.pb.h"
#include "rubato/wire/conduct.pb.h"

namespace rubato {

/// Must be on disk before anything that comes after it is done.
struct KeepConductOrder {
  wire::ConductOrder order{};
};

/// Likewise, for a job that no process conducts.
struct KeepJobEnd {
  wire::JobEnded ended{};
};

/// No process conducts the job: start one. It reads the order that was kept.
struct StartConduct {
  std::string job{};
};

struct TellConduct {
  std::string job{};
  wire::ToConduct message{};
};

struct TellController {
  wire::FromAgent message{};
};

/// The controller knows of the end.
struct ForgetJob {
  std::string job{};
  bool keeps_state = false;  // The job may be ordered again.
};

/// The controller may lack metrics of the job, which are in a file of its directory.
struct TellMetrics {
  std::string job{};
};

using AgentAction = std::variant<KeepConductOrder, KeepJobEnd, StartConduct, TellConduct,
                                 TellController, ForgetJob, TellMetrics>;
using AgentActions = std::vector<AgentAction>;

/// What the agent offers.
struct AgentOffer {
  std::string name{};
  std::vector<wire::AgentNode> nodes{};
  int cpus = 1;  // Shared by the slots of each node that is not emulated.
  Duration report = std::chrono::seconds(1);  // Between reports of a job.
  bool is_alone = false;                      // The platform has no other agent.
};

/// The jobs of one agent. Every call returns what must be done now, in order.
class AgentBook {
 public:
  explicit AgentBook(AgentOffer offer) : offer_(std::move(offer)) {}

  /// At the start of the agent, for each job that it finds.
  void find_running(const wire::ConductOrder& order);
  void find_ended(const wire::ConductOrder& order, const wire::JobEnded& ended, bool is_forgotten);

  /// From the controller.
  [[nodiscard]] AgentActions take(const wire::ToAgent& message);
  /// The conducting process of a job can be told things now.
  [[nodiscard]] AgentActions on_connected(const std::string& job);
  /// From a conducting process: a report, slots held, or metrics.
  [[nodiscard]] AgentActions on_word(const std::string& job, const wire::FromAgent& word);
  /// No process conducts the job any more.
  [[nodiscard]] AgentActions on_ended(const wire::JobEnded& ended);

  /// All that a controller must hear which knows nothing of us.
  [[nodiscard]] AgentActions hello() const;
  /// Ends that the controller may not have heard of.
  [[nodiscard]] AgentActions resend() const;

  [[nodiscard]] bool is_running(const std::string& job) const;

 private:
  enum class JobStage { Running, Ended, Forgotten };
  struct Entry {
    JobStage stage = JobStage::Running;
    wire::ConductOrder order{};
    std::uint64_t seen = 0;  // Number of the newest order of any kind.
    std::optional<wire::StopOrder> stop{};
    wire::JobReport report{};
    wire::SlotsHeld held{};
    wire::JobEnded ended{};
  };

  [[nodiscard]] AgentActions run(const wire::JobOrder& order);
  [[nodiscard]] AgentActions stop(const wire::StopOrder& order);
  [[nodiscard]] AgentActions forget(const std::string& job);
  [[nodiscard]] AgentActions end(Entry& entry, wire::JobEnded ended, bool is_kept);
  /// What is wrong with the slots of an order; empty: nothing.
  [[nodiscard]] std::string fill_in(const wire::JobOrder& order, wire::ConductOrder& filled) const;
  [[nodiscard]] const wire::AgentNode* node(const std::string& name) const;

  AgentOffer offer_;
  std::map<std::string, Entry> jobs_{};
};

}  // namespace rubato
