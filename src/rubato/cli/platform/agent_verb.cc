#include "rubato/cli/platform/agent_verb.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/client/secret_file.h"
#include "rubato/cli/platform/offered_nodes.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/job/worker_environment.h"
#include "rubato/live/agent/agent.h"
#include "rubato/live/agent/agent_rpc.h"
#include "rubato/live/agent/slots.h"

namespace rubato {
namespace {

/// What `rubato agent` was asked for.
struct AgentFlags {
  std::string controller{};
  std::string state{};
  std::string name{};
  int slots = 0;  // 0: the GPUs, or one per CPU.
  std::string emulated{};
  std::string shared{};
  std::string token_file{};
  std::string root_file{};
};

int agent_failure(const Error& error) {
  fmt::print(stderr, "rubato agent: {}\n", error.message);
  return exit_code(error.code);
}

Result<AgentClientOptions> client_options(const AgentFlags& flags) {
  AgentClientOptions options{.controller = flags.controller};
  const char* const token = std::getenv("RUBATO_TOKEN");
  options.token = token == nullptr ? "" : token;
  if (!flags.token_file.empty()) {
    auto read = secret_of(flags.token_file, true);
    if (!read) {
      return read.error();
    }
    options.token = std::move(*read);
  }
  if (!flags.root_file.empty()) {
    auto read = secret_of(flags.root_file, false);
    if (!read) {
      return read.error();
    }
    options.root_certificate = std::move(*read);
  }
  return options;
}

/// An agent and its line, which call each other: the line goes first.
class RemoteAgent {
 public:
  Status open(AgentOptions options, AgentClientOptions line) {
    auto agent = Agent::open(std::move(options), [this](const wire::FromAgent& message) {
      const std::scoped_lock lock(mutex_);
      if (client_ != nullptr) {
        client_->say(message);
      }
    });
    if (!agent) {
      return agent.error();
    }
    agent_ = std::move(*agent);
    auto client = std::make_unique<AgentClient>(
        std::move(line),
        AgentClientEvents{
            .on_order = [this](const wire::ToAgent& message) { agent_->send(message); },
            .on_connected =
                [this] {
                  fmt::print(stderr, "rubato agent: connected\n");
                  agent_->greet();
                },
            .on_broken =
                [](const std::string& reason) {
                  fmt::print(stderr, "rubato agent: no connection: {}\n", reason);
                }});
    const std::scoped_lock lock(mutex_);
    client_ = std::move(client);
    return ok_status();
  }
  ~RemoteAgent() {
    std::unique_ptr<AgentClient> client;
    {
      const std::scoped_lock lock(mutex_);
      client = std::move(client_);
    }
    client.reset();
    agent_.reset();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<AgentClient> client_;
  std::unique_ptr<Agent> agent_;
};

int run_agent(const AgentFlags& flags) {
  const std::string name = flags.name.empty() ? host_name() : flags.name;
  auto nodes = offered_nodes({.name = name, .slots = flags.slots, .emulated = flags.emulated});
  if (nodes && !flags.emulated.empty()) {
    for (wire::AgentNode& node : *nodes) {
      node.set_name(name + "-" + node.name());  // Other agents pretend as well.
    }
  }
  if (!nodes) {
    return agent_failure(nodes.error());
  }
  auto line = client_options(flags);
  if (!line) {
    return agent_failure(line.error());
  }
  // Blocked in all threads that begin from here on, and waited for below.
  sigset_t ends{};
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  RemoteAgent agent;
  const Status opened =
      agent.open({.offer = {.name = name, .nodes = std::move(*nodes), .cpus = cpus_here()},
                  .directory = flags.state + "/jobs",
                  .shared = flags.shared,
                  .program = own_program()},
                 std::move(*line));
  if (!opened) {
    return agent_failure(opened.error());
  }
  int signal = 0;
  sigwait(&ends, &signal);
  return kExitOk;
}

}  // namespace

void add_agent_verb(CLI::App& app, const char* name, int& code) {
  CLI::App* verb = app.add_subcommand(name, "Offer this machine to a platform elsewhere");
  const auto flags = std::make_shared<AgentFlags>();
  verb->add_option("--controller", flags->controller,
                   "As `rubato up --agents` says, such as 10.0.0.1:8422")
      ->required();
  verb->add_option("--state", flags->state, "Directory of the jobs that run here")->required();
  verb->add_option("--name", flags->name, "Of the agent and its node; otherwise this host's");
  verb->add_option("--slots", flags->slots, "Shares of the CPUs to offer in place of GPUs")
      ->check(CLI::Range(1, 1024));
  verb->add_option("--emulated", flags->emulated, "Pretend nodes and slots, such as 16x8");
  verb->add_option("--shared", flags->shared, "Directory of `rubato up --shared`, as seen here");
  verb->add_option("--token-file", flags->token_file, "Otherwise the token is in RUBATO_TOKEN");
  verb->add_option("--root-certificate", flags->root_file, "Of an encrypted controller, PEM");
  verb->callback([flags, &code] { code = run_agent(*flags); });
}

}  // namespace rubato
