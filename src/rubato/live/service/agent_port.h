// The controller's end of the line to one agent, and the agent's end of the line to its controller:
// in one process they are joined directly, between machines by remote calls.
#pragma once

#include <functional>

#include "rubato/wire/agent.pb.h"

namespace rubato {

/// Takes messages to an agent; may be called from any thread, never blocks. A message may be lost
/// when the line breaks: orders are sent again after the next hello.
class AgentPort {
 public:
  virtual ~AgentPort() = default;
  virtual void send(const wire::ToAgent& message) = 0;
};

/// Where an agent's messages go; may be called from any thread.
using AgentListener = std::function<void(const wire::FromAgent& message)>;

}  // namespace rubato
