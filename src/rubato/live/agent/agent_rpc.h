// The line between the controller and agents on other machines: both ends of the remote call
// Agents::Attach. Whoever is not there hears nothing; after a break the agent connects again and
// says hello, and the controller repeats what the agent lacks.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "rubato/base/result.h"
#include "rubato/base/time.h"
#include "rubato/live/service/agent_port.h"

namespace rubato {

struct AgentServerOptions {
  std::string address = "127.0.0.1:0";  // Port 0: any that is free.
  std::string token{};                  // That agents must show; empty: all are welcome.
  std::string certificate{};            // PEM, with its key below; empty: not encrypted.
  std::string key{};
  std::string reserved{};  // A name that no agent may have: the controller's own agent's.
};

/// What the controller hears; from any thread.
struct AgentServerEvents {
  /// The first message of an agent is its hello, which names it.
  std::function<void(const std::string& agent, const wire::FromAgent& message)> on_message{};
  /// The line is broken; another may have taken its place already.
  std::function<void(const std::string& agent)> on_gone{};
};

/// The controller's end. A second agent of the same name takes the place of the first.
class AgentServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<AgentServer>> open(const AgentServerOptions& options,
                                                                 AgentServerEvents events);
  ~AgentServer();

  [[nodiscard]] int port() const;
  /// To the agent of this name, whenever it is connected; valid as long as the server. Messages to
  /// one that is away are lost.
  [[nodiscard]] AgentPort& port_of(const std::string& agent);

 private:
  class Engine;
  explicit AgentServer(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

struct AgentClientOptions {
  std::string controller{};  // `host:port`.
  std::string token{};
  std::string root_certificate{};  // PEM; empty: not encrypted.
  Duration backoff_min = std::chrono::milliseconds(200);
  Duration backoff_max = std::chrono::seconds(10);
};

/// What the agent hears; from any thread.
struct AgentClientEvents {
  std::function<void(const wire::ToAgent& message)> on_order{};
  std::function<void()> on_connected{};  // It must say hello now.
  std::function<void(const std::string& reason)> on_broken{};
};

/// The agent's end. Connects again and again.
class AgentClient {
 public:
  AgentClient(AgentClientOptions options, AgentClientEvents events);
  ~AgentClient();

  /// Lost while there is no connection.
  void say(const wire::FromAgent& message);

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace rubato
