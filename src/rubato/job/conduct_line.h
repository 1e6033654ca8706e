// The line between a conducting process and its agent, as the process sees it. The agent may be
// away, may come back as another process, and may be slow: the job never waits for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/wire/agent.pb.h"
#include "rubato/wire/conduct.pb.h"
#include "rubato/wire/unix_channel.h"

namespace rubato {

class ConductLine {
 public:
  [[nodiscard]] static Result<ConductLine> open(const std::string& path);

  /// To poll for reading.
  [[nodiscard]] std::vector<int> descriptors() const;
  /// What has arrived. An agent that connects takes the place of the one before.
  [[nodiscard]] std::vector<wire::ToConduct> receive();
  [[nodiscard]] bool has_agent() const { return agent_.has_value(); }
  /// True once after an agent has connected.
  [[nodiscard]] bool take_is_new() { return std::exchange(is_new_, false); }
  /// To the agent, if one is there. One that does not read is cut off; it may connect again.
  void say(const wire::FromAgent& message);

 private:
  explicit ConductLine(UnixListener listener) : listener_(std::move(listener)) {}

  UnixListener listener_;
  std::optional<UnixChannel> agent_{};
  bool is_new_ = false;
};

}  // namespace rubato
