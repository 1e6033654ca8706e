#include "rubato/cli/platform/local_platform.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/core.h>

#include "rubato/cli/client/secret_file.h"
#include "rubato/cli/platform/dashboard.h"
#include "rubato/cli/platform/offered_nodes.h"
#include "rubato/cli/platform/what_if_run.h"
#include "rubato/job/worker_environment.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAgent = "local";

std::vector<LiveNode> live_nodes(const std::vector<wire::AgentNode>& nodes) {
  std::vector<LiveNode> live;
  live.reserve(nodes.size());
  for (const wire::AgentNode& node : nodes) {
    live.push_back({.name = node.name(),
                    .agent = kAgent,
                    .gpu_type = node.gpu_type(),
                    .slots = node.slots_size()});
  }
  return live;
}

ControllerOptions controller_options(const LocalPlatformOptions& given,
                                     const std::vector<wire::AgentNode>& nodes) {
  return {.policy = given.policy,
          .nodes = live_nodes(nodes),
          .slot = from_seconds(given.slot_seconds),
          .resize_pause = from_seconds(given.resize_pause_seconds),
          .margin = given.margin,
          .margin_min = from_seconds(given.margin_min_seconds),
          .firm_quotes = given.firm_quotes};
}

}  // namespace

std::string default_state_directory() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0') {
    return fs::path(state) / "rubato";
  }
  const char* home = std::getenv("HOME");
  return fs::path(home == nullptr ? "." : home) / ".local" / "state" / "rubato";
}

Result<std::unique_ptr<LocalPlatform>> LocalPlatform::start(LocalPlatformOptions options) {
  if (options.state_directory.empty()) {
    options.state_directory = default_state_directory();
  }
  std::error_code failure;
  fs::create_directories(fs::path(options.state_directory) / "jobs", failure);
  if (failure) {
    return Error{
        .code = ErrorCode::Io,
        .message = fmt::format("cannot use {}: {}", options.state_directory, failure.message())};
  }
  const auto nodes = offered_nodes({.slots = options.slots, .emulated = options.emulate});
  if (!nodes) {
    return nodes.error();
  }
  std::unique_ptr<LocalPlatform> platform(new LocalPlatform(std::move(options)));
  const LocalPlatformOptions& given = platform->options_;
  auto service = Service::open({.state_directory = given.state_directory,
                                .shared_directory = given.shared,
                                .controller = controller_options(given, *nodes),
                                .version = RUBATO_VERSION,
                                .what_if = play_what_if});
  if (!service) {
    return service.error();
  }
  platform->service_ = *std::move(service);
  Service& live = *platform->service_;
  auto agent = Agent::open({.offer = {.name = kAgent,
                                      .nodes = *nodes,
                                      .cpus = cpus_here(),
                                      .is_alone = given.agents.empty()},
                            .directory = (fs::path(given.state_directory) / "jobs").string(),
                            .shared = given.shared,
                            .program = own_program()},
                           [&live](const wire::FromAgent& message) { live.hear(kAgent, message); });
  if (!agent) {
    return agent.error();
  }
  platform->agent_ = *std::move(agent);
  live.attach(kAgent, platform->agent_.get());
  platform->agent_->greet();
  if (const Status opened = platform->open_gateway(); !opened) {
    return opened.error();
  }
  auto rest = RestServer::start(live, {.http = {.address = given.address,
                                                .port = given.port,
                                                .certificate_file = given.certificate_file,
                                                .key_file = given.key_file},
                                       .token_file = given.token_file,
                                       .files = dashboard_files()});
  if (!rest) {
    return rest.error();
  }
  platform->rest_ = *std::move(rest);
  return platform;
}

Status LocalPlatform::open_gateway() {
  if (options_.agents.empty()) {
    return ok_status();
  }
  AgentServerOptions gateway{.address = options_.agents, .reserved = kAgent};
  struct Part {
    const std::string& path;
    std::string& text;
    bool is_line;
  };
  for (const Part& part : {Part{options_.agent_token_file, gateway.token, true},
                           Part{options_.certificate_file, gateway.certificate, false},
                           Part{options_.key_file, gateway.key, false}}) {
    auto read =
        part.path.empty() ? Result<std::string>(std::string()) : secret_of(part.path, part.is_line);
    if (!read) {
      return read.error();
    }
    part.text = *std::move(read);
  }
  auto opened = AgentGateway::open(*service_, gateway);
  if (!opened) {
    return opened.error();
  }
  door_ = *std::move(opened);
  return ok_status();
}

std::string LocalPlatform::agents_address() const {
  if (!door_) {
    return "";
  }
  return fmt::format("{}:{}", options_.agents.substr(0, options_.agents.rfind(':')), door_->port());
}

LocalPlatform::~LocalPlatform() {
  if (service_) {
    service_->stop_waiting();  // Else who waits for a full disk would keep us here.
  }
  if (rest_) {
    rest_->stop();
  }
  door_.reset();
  if (service_) {
    service_->attach(kAgent, nullptr);
  }
  agent_.reset();  // It speaks to the service until it is gone.
}

std::string LocalPlatform::url() const {
  return fmt::format("{}://{}:{}", options_.certificate_file.empty() ? "http" : "https",
                     options_.address, rest_->port());
}

}  // namespace rubato
