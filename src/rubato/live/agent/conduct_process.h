// An agent's hold on the process that conducts one of its jobs: starts it, talks to it, and knows
// when it is gone. The process lives on when this object or the agent goes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/job/conduct_files.h"
#include "rubato/launch/process/process.h"
#include "rubato/wire/agent.pb.h"
#include "rubato/wire/conduct.pb.h"
#include "rubato/wire/unix_channel.h"

namespace rubato {

class ConductProcess {
 public:
  explicit ConductProcess(ConductFiles files) : files_(std::move(files)) {}
  ConductProcess(ConductProcess&&) = default;
  ConductProcess& operator=(ConductProcess&&) = default;
  ~ConductProcess();

  /// Starts `program conduct DIRECTORY`, unless a process conducts the job already.
  [[nodiscard]] Status start(const std::string& program);

  /// To poll for reading; nothing while there is no line.
  [[nodiscard]] std::optional<int> descriptor() const;
  /// Tries to get a line; true if there is a new one.
  [[nodiscard]] bool connect();
  /// False if it could not be told; it must then be told after the next `connect`.
  bool tell(const wire::ToConduct& message);
  [[nodiscard]] std::vector<wire::FromAgent> receive();
  /// True if nobody conducts the job any more.
  [[nodiscard]] bool is_gone();

  [[nodiscard]] const ConductFiles& files() const { return files_; }

 private:
  ConductFiles files_;
  std::optional<Process> process_{};  // Our child, if it is one.
  std::optional<UnixChannel> line_{};
};

}  // namespace rubato
