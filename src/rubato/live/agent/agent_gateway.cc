#include "rubato/live/agent/agent_gateway.h"

#include <utility>

#include <fmt/core.h>

#include "rubato/http/guard.h"

namespace rubato {

Result<std::unique_ptr<AgentGateway>> AgentGateway::open(Service& service,
                                                         const AgentServerOptions& options) {
  if (options.token.empty() && !is_loopback_host(options.address)) {
    return Error{
        .code = ErrorCode::BadConfig,
        .message = fmt::format("agents can reach {} from other machines: that needs a token",
                               options.address)};
  }
  std::unique_ptr<AgentGateway> gateway(new AgentGateway(service));
  AgentGateway* const raw = gateway.get();
  const std::scoped_lock lock(gateway->mutex_);  // The first word waits until we are ready for it.
  auto server = AgentServer::open(
      options, {.on_message = [raw](const std::string& agent,
                                    const wire::FromAgent& message) { raw->hear(agent, message); },
                .on_gone = [](const std::string& /*agent*/) {}});
  if (!server) {
    return server.error();
  }
  gateway->server_ = *std::move(server);
  return gateway;
}

// Nobody may speak to the service, nor the service to anybody, when the server goes.
AgentGateway::~AgentGateway() {
  Service* service = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    service = std::exchange(service_, nullptr);
  }
  service->detach_remote();
  server_.reset();
}

void AgentGateway::hear(const std::string& agent, const wire::FromAgent& message) {
  const std::scoped_lock lock(mutex_);
  if (service_ != nullptr && server_ != nullptr) {
    service_->hear(agent, message, &server_->port_of(agent));
  }
}

}  // namespace rubato
