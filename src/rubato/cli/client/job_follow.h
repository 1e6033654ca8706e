// Staying with a job until it is over: its log, its changes and its progress on the terminal.
#pragma once

#include <string>

#include "rubato/cli/client/platform_client.h"

namespace rubato {

struct FollowRequest {
  const char* verb = "run";
  bool shows_log = true;
  bool is_strict = false;    // A missed deadline is an exit code.
  bool prints_json = false;  // The last status on stdout; the log goes to stderr.
};

/// Returns the exit code. The first Ctrl-C leaves the job alone and us soon after; a second one
/// meanwhile cancels the job.
[[nodiscard]] int follow_job(PlatformClient& client, const std::string& job,
                             const FollowRequest& request);

}  // namespace rubato
