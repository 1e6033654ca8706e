// Where agents of other machines come in: joins the line to them with the platform.
#pragma once

#include <memory>
#include <mutex>

#include "rubato/live/agent/agent_rpc.h"
#include "rubato/live/service/service.h"

namespace rubato {

/// Beyond loopback nobody is let in without a token.
class AgentGateway {
 public:
  /// The service must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<AgentGateway>> open(
      Service& service, const AgentServerOptions& options);
  ~AgentGateway();
  AgentGateway(const AgentGateway&) = delete;
  AgentGateway& operator=(const AgentGateway&) = delete;

  [[nodiscard]] int port() const { return server_->port(); }

 private:
  explicit AgentGateway(Service& service) : service_(&service) {}
  void hear(const std::string& agent, const wire::FromAgent& message);

  std::mutex mutex_;
  Service* service_;  // Null once the gateway is being closed.
  std::unique_ptr<AgentServer> server_;
};

}  // namespace rubato
