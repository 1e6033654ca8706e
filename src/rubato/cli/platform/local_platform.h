// The whole platform in one process: controller, agent of this machine, and REST interface.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "rubato/base/result.h"
#include "rubato/live/agent/agent.h"
#include "rubato/live/agent/agent_gateway.h"
#include "rubato/live/rest/rest_server.h"
#include "rubato/live/service/service.h"

namespace rubato {

/// What to run where.
struct LocalPlatformOptions {
  std::string state_directory{};  // Empty: the user's own, see default_state_directory().
  std::string address = "127.0.0.1";
  std::uint16_t port = 8421;  // Zero: any free one.
  std::string token_file{};
  std::string certificate_file{};
  std::string key_file{};
  std::string policy = "elasticflow";
  int slots = 0;  // Of this machine; zero: one per GPU, or per processor without any.
  double slot_seconds = 1;
  double resize_pause_seconds = 0.5;
  double margin = 0.05;  // As in ControllerOptions.
  double margin_min_seconds = 2;
  double firm_quotes = 0;
  std::string agents{};            // Where agents of other machines come in; empty: nowhere.
  std::string shared{};            // Directory that they see too; jobs can go on elsewhere from it.
  std::string agent_token_file{};  // What they must show; its first line.
  std::string emulate{};  // `16x8`: that many pretended nodes and slots in place of this machine.
};

/// `$XDG_STATE_HOME/rubato`, or `~/.local/state/rubato`.
[[nodiscard]] std::string default_state_directory();

/// Runs until it goes; jobs go on without it, and the next one with the same directory finds them.
class LocalPlatform {
 public:
  [[nodiscard]] static Result<std::unique_ptr<LocalPlatform>> start(LocalPlatformOptions options);
  ~LocalPlatform();
  LocalPlatform(const LocalPlatform&) = delete;
  LocalPlatform& operator=(const LocalPlatform&) = delete;

  [[nodiscard]] Service& service() { return *service_; }
  [[nodiscard]] std::string url() const;
  /// `host:port` for agents of other machines; empty if none are let in.
  [[nodiscard]] std::string agents_address() const;
  [[nodiscard]] const std::string& state_directory() const { return options_.state_directory; }

 private:
  explicit LocalPlatform(LocalPlatformOptions options) : options_(std::move(options)) {}
  [[nodiscard]] Status open_gateway();

  LocalPlatformOptions options_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<AgentGateway> door_;
  std::unique_ptr<RestServer> rest_;
};

}  // namespace rubato
