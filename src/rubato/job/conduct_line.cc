#include "rubato/job/conduct_line.h"

#include <poll.h>

namespace rubato {
namespace {

// The kernel then takes a frame of a few kilobytes at once.
bool has_room(int socket) {
  pollfd ready{.fd = socket, .events = POLLOUT, .revents = 0};
  return ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}

}  // namespace

Result<ConductLine> ConductLine::open(const std::string& path) {
  auto listener = UnixListener::open(path);
  if (!listener) {
    return listener.error();
  }
  return ConductLine(std::move(*listener));
}

std::vector<int> ConductLine::descriptors() const {
  std::vector<int> found{listener_.descriptor()};
  if (agent_) {
    found.push_back(agent_->descriptor());
  }
  return found;
}

std::vector<wire::ToConduct> ConductLine::receive() {
  if (auto arrived = listener_.accept(); arrived && !arrived->empty()) {
    agent_.emplace(std::move(arrived->back()));
    is_new_ = true;
  }
  std::vector<wire::ToConduct> messages;
  if (!agent_) {
    return messages;
  }
  auto frames = agent_->receive();
  if (!frames) {
    agent_.reset();
    return messages;
  }
  for (const Frame& frame : *frames) {
    wire::ToConduct message;
    if (message.ParseFromString(frame.bytes)) {
      messages.push_back(std::move(message));
    }
  }
  return messages;
}

void ConductLine::say(const wire::FromAgent& message) {
  if (agent_ && (!has_room(agent_->descriptor()) || !agent_->send(message.SerializeAsString()))) {
    agent_.reset();
  }
}

}  // namespace rubato
