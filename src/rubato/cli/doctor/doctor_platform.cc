#include "rubato/cli/doctor/doctor_platform.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sys/socket.h>

#include <fmt/format.h>
#include <netinet/in.h>

#include "rubato/cli/client/platform_client.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/text/moment_text.h"
#include "rubato/cli/text/wall_clock.h"
#include "rubato/wire/descriptor.h"

namespace rubato {
namespace {

constexpr std::uint16_t kUsualPort = 8421;
constexpr double kSkewMax = 2;  // Seconds; promises have this much room at least.

DoctorFinding well(std::string check, std::string found) {
  return {.check = std::move(check), .found = std::move(found)};
}

// Whether `rubato up` could listen where it usually does.
bool can_listen() {
  const Descriptor line(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(line.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kUsualPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // The one cast that the interface of sockets is made for.
  return line.is_open() &&
         ::bind(line.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

DoctorFindings without_platform(const std::string& server, const CallFailure& failure,
                                bool is_named) {
  if (is_named) {
    return {{.check = "platform",
             .level = FindingLevel::Fail,
             .found = fmt::format("{} does not answer: {}", server, failure.message),
             .remedy = "is it running? rubato up starts one on this machine"}};
  }
  DoctorFindings findings{
      well("platform", fmt::format("none at {}; rubato up starts one", server))};
  if (can_listen()) {
    findings.push_back(well("port", fmt::format("{} is free", kUsualPort)));
  } else {
    findings.push_back({.check = "port",
                        .level = FindingLevel::Warn,
                        .found = fmt::format("{} is taken by another program", kUsualPort),
                        .remedy = "choose another: rubato up --port 8422, and tell clients by "
                                  "RUBATO_SERVER=http://127.0.0.1:8422"});
  }
  return findings;
}

DoctorFinding version_finding(const std::string& server, const wire::VersionReply& version) {
  const std::string found =
      fmt::format("{} answers: rubato {}, policy {}, {}{}", server, version.version(),
                  version.policy(), version.cluster(), version.emulated() ? ", emulated" : "");
  if (version.version() == RUBATO_VERSION) {
    return well("platform", found);
  }
  return {.check = "platform",
          .level = FindingLevel::Warn,
          .found = fmt::format("{}; this program is {}", found, RUBATO_VERSION),
          .remedy = "use the same version on both sides"};
}

DoctorFinding token_finding(const CallFailure& failure) {
  return {.check = "token",
          .level = FindingLevel::Fail,
          .found = failure.message,
          .remedy = failure.exit_code == kExitNotPermitted
                        ? "set RUBATO_TOKEN, or name its file with --token-file"
                        : "the platform's own log says more"};
}

DoctorFinding agents_finding(const wire::NodeList& list) {
  int slots = 0;
  std::string down;
  for (const wire::NodeStatus& node : list.nodes()) {
    slots += node.up() ? node.slots() : 0;
    if (!node.up() && !node.draining()) {
      down += fmt::format("{}{}", down.empty() ? "" : ", ", node.name());
    }
  }
  const std::string found = fmt::format("{} nodes, {} slots up", list.nodes_size(), slots);
  if (down.empty()) {
    return well("agents", found);
  }
  return {
      .check = "agents",
      .level = slots == 0 ? FindingLevel::Fail : FindingLevel::Warn,
      .found = fmt::format("{}; down: {}", found, down),
      .remedy = "is their agent running and can it reach the controller? rubato node says more"};
}

// The server's clock beside ours, which was read before and after it answered.
DoctorFinding skew_finding(Instant before, Instant server, Instant after) {
  const double skew = server < before  ? to_seconds(server - before)
                      : server > after ? to_seconds(server - after)
                                       : 0;
  if (std::abs(skew) <= kSkewMax) {
    return well("skew", fmt::format("the platform's clock is ours within {:.1f} s",
                                    std::max(0.1, std::abs(skew))));
  }
  return {.check = "skew",
          .level = FindingLevel::Warn,
          .found = fmt::format("the platform's clock is {:.0f} s {} ours", std::abs(skew),
                               skew > 0 ? "ahead of" : "behind"),
          .remedy = "deadlines are moments of its clock: set both by the network"};
}

}  // namespace

DoctorFindings examine_platform(const ClientFlags& flags, bool is_named) {
  auto client = PlatformClient::open(flags);
  if (!client) {
    return {{.check = "token",
             .level = FindingLevel::Fail,
             .found = client.error().message,
             .remedy = "mend or remove that file"}};
  }
  const std::string server = to_string(client->options().server);
  wire::VersionReply version;
  const auto absence = client->get("/v1/version", version);
  if (absence && absence->exit_code == kExitNoServer) {
    return without_platform(server, *absence, is_named);
  }
  DoctorFindings findings;
  if (absence) {
    return {token_finding(*absence)};
  }
  findings.push_back(version_finding(server, version));
  WebClient web(client->options());
  const auto ready = web.send({.target = "/readyz"});
  if (!ready || ready->status != 200) {  // Nothing else is answered then.
    findings.push_back({.check = "journal",
                        .level = FindingLevel::Fail,
                        .found = "the platform cannot write its journal",
                        .remedy = "nothing is answered until it can: free some room on the disk of "
                                  "its state directory"});
    return findings;
  }
  wire::NodeList nodes;
  if (const auto failure = client->get("/v1/nodes", nodes)) {
    findings.push_back(token_finding(*failure));
    return findings;
  }
  findings.push_back(well("token", "the platform lets us in"));
  findings.push_back(agents_finding(nodes));
  const Instant before = local_wall_clock().now;
  wire::ReportReply report;
  if (!client->get("/v1/report?since=1", report)) {
    findings.push_back(skew_finding(before, instant_from(report.to()), local_wall_clock().now));
  }
  findings.push_back(well("journal", "is written"));
  return findings;
}

}  // namespace rubato
