// The parts of `rubato up` with a line for remote agents and nodes that are theirs from the start.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

#include <fmt/core.h>

#include "rubato/live/agent_rpc.h"
#include "rubato/live/rest_server.h"
#include "rubato/live/service.h"

int main(int argc, char** argv) {
  using namespace rubato;
  const std::string state = argc > 1 ? argv[1] : ".";
  ServiceOptions options{.state_directory = state};
  for (int i = 0; i < 1; ++i) {
    for (int node = i; node < 125; node += 1) {
      options.controller.nodes.push_back({.name = fmt::format("load{}-{}", i, node),
                                          .agent = fmt::format("load{}", i),
                                          .slots = 8});
    }
  }
  auto opened = Service::open(options);
  if (!opened) {
    fmt::print(stderr, "{}\n", opened.error().message);
    return 1;
  }
  Service& service = **opened;
  auto agents = AgentServer::open(
      {.address = fmt::format("127.0.0.1:{}", argc > 3 ? argv[3] : "0")},
      {.on_message = [&](const std::string& agent,
                         const wire::FromAgent& message) { service.hear(agent, message); },
       .on_gone = [](const std::string&) {}});
  for (int i = 0; i < 1; ++i) {
    const std::string name = fmt::format("load{}", i);
    service.attach(name, &(*agents)->port_of(name));
  }
  auto rest = RestServer::start(
      service, {.http = {.port = static_cast<std::uint16_t>(argc > 2 ? std::atoi(argv[2]) : 0)}});
  const auto& recovery = service.recovery();
  fmt::print(
      "rubato listens on http://127.0.0.1:{} agents on 127.0.0.1:{} replayed {} in {:.2f} "
      "differences {}\n",
      (*rest)->port(), (*agents)->port(), recovery.inputs, recovery.seconds, recovery.differences);
  std::fflush(stdout);
  pause();
  return 0;
}
