#include "rubato/cli/platform/up_verb.h"

#include <csignal>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/platform/local_platform.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/process/verb_failure.h"

namespace rubato {
namespace {

// Blocks the signals that end us, before any thread is there, so that only sigwait() gets them.
sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&set, each);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

int run_up(const LocalPlatformOptions& options) {
  const sigset_t signals = ending_signals();
  auto platform = LocalPlatform::start(options);
  if (!platform) {
    return fail_verb("up", platform.error());
  }
  const Service::Recovery& recovery = (*platform)->service().recovery();
  fmt::print("rubato {} listens on {}\n", RUBATO_VERSION, (*platform)->url());
  if (const std::string address = (*platform)->agents_address(); !address.empty()) {
    fmt::print("agents join at {}\n", address);
  }
  fmt::print("state in {}", (*platform)->state_directory());
  if (recovery.inputs > 0) {
    fmt::print(" ({} inputs replayed in {:.2f} s)", recovery.inputs, recovery.seconds);
  }
  fmt::print("\n");
  if (recovery.differences > 0) {
    fmt::print(stderr, "rubato up: {} inputs were decided otherwise than journalled\n",
               recovery.differences);
  }
  (void)std::fflush(stdout);
  int received = 0;
  sigwait(&signals, &received);
  fmt::print("ends; jobs go on, and `rubato up` finds them again\n");
  return kExitOk;
}

}  // namespace

void add_up_verb(CLI::App& app, int& code) {
  CLI::App* verb =
      app.add_subcommand("up", "Start the platform on this machine: rubato up --slots 4");
  const auto options = std::make_shared<LocalPlatformOptions>();
  verb->add_option("--slots", options->slots,
                   "Workers at a time; by default one per GPU, or per processor without any")
      ->check(CLI::Range(1, 100'000));
  verb->add_option("--state", options->state_directory, "Journal, logs and snapshots");
  verb->add_option("--address", options->address, "To listen on; beyond loopback needs --tokens");
  verb->add_option("--port", options->port, "To listen on; 0: any free one");
  verb->add_option("--tokens", options->token_file, "File of tokens, roles and tenants");
  verb->add_option("--tls-certificate", options->certificate_file, "PEM file of the chain");
  verb->add_option("--tls-key", options->key_file, "PEM file of its key");
  verb->add_option("--agents", options->agents,
                   "Let machines join by `rubato agent`, such as 127.0.0.1:8422; beyond loopback "
                   "needs --agent-token");
  verb->add_option("--agent-token", options->agent_token_file,
                   "File whose first line agents must show");
  verb->add_option("--shared", options->shared,
                   "Directory that all agents see too, so that jobs can go on elsewhere");
  verb->add_option("--policy", options->policy, "Scheduler; see `rubato policy list`");
  verb->add_option("--emulate", options->emulate,
                   "Pretend machines such as 16x8, for jobs of kind `emulated`");
  const auto seconds = CLI::Range(0.0, 1e6);
  verb->add_option("--slot", options->slot_seconds, "Least seconds between two rounds of decisions")
      ->check(CLI::Range(0.001, 1e6));
  verb->add_option("--resize-pause", options->resize_pause_seconds,
                   "Seconds that plans count for each change of workers")
      ->check(seconds);
  verb->add_option("--margin", options->margin,
                   "Part of the time to a deadline that plans leave unused")
      ->check(CLI::Range(0.0, 0.9));
  verb->add_option("--margin-min", options->margin_min_seconds, "The same in seconds, at least")
      ->check(seconds);
  verb->add_option("--firm-quotes", options->firm_quotes,
                   "Part of its time by which a promised job may end later than quoted, such as "
                   "0.05; 0: quotes are forecasts")
      ->check(CLI::Range(0.0, 1.0));
  verb->callback([options, &code] { code = run_up(*options); });
}

}  // namespace rubato
