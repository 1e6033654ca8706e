// The controller, the REST interface and a line for remote agents in one process, as in `rubato
// up`: stands in for it where that does not let agents in. All nodes belong to one agent of
// `live_load`.
//
//     live_host STATE-DIRECTORY
#include <cstdio>
#include <string>
#include <unistd.h>

#include <fmt/core.h>

#include "rubato/live/agent_rpc.h"
#include "rubato/live/rest_server.h"
#include "rubato/live/service.h"

namespace rubato {
namespace {

constexpr const char* kLoadAgent = "load0";
constexpr int kNodes = 125;
constexpr int kSlots = 8;

int fail(const Error& error) {
  fmt::print(stderr, "live_host: {}\n", error.message);
  return 1;
}

int host(const std::string& state) {
  ServiceOptions options{.state_directory = state};
  for (int node = 0; node < kNodes; ++node) {
    options.controller.nodes.push_back(
        {.name = fmt::format("{}-{}", kLoadAgent, node), .agent = kLoadAgent, .slots = kSlots});
  }
  const auto service = Service::open(options);
  if (!service) {
    return fail(service.error());
  }
  Service& live = **service;
  const auto agents = AgentServer::open(
      {.address = "127.0.0.1:0"},
      {.on_message = [&](const std::string& agent,
                         const wire::FromAgent& message) { live.hear(agent, message); },
       .on_gone = [](const std::string&) {}});
  if (!agents) {
    return fail(agents.error());
  }
  live.attach(kLoadAgent, &(*agents)->port_of(kLoadAgent));
  const auto rest = RestServer::start(live, {.http = {.port = 0}});
  if (!rest) {
    return fail(rest.error());
  }
  fmt::print("live_host listens on http://127.0.0.1:{}\nagents join at 127.0.0.1:{}\n",
             (*rest)->port(), (*agents)->port());
  fmt::print("{} inputs replayed in {:.2f} s, {} decided otherwise\n", live.recovery().inputs,
             live.recovery().seconds, live.recovery().differences);
  (void)std::fflush(stdout);
  ::pause();
  return 0;
}

}  // namespace
}  // namespace rubato

int main(int argc, char** argv) { return rubato::host(argc > 1 ? argv[1] : "."); }
