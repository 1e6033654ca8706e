// Workers as processes of this machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/launch/launcher.h"
#include "rubato/launch/logs/rank_log.h"
#include "rubato/launch/process/cgroup.h"
#include "rubato/launch/process/group_guard.h"
#include "rubato/launch/warm/warm_pool.h"

namespace rubato {

/// Whose lines are shown on the terminal.
enum class EchoChoice { None, One, All };

struct LocalLaunchOptions {
  std::string log_folder{};  // Holds worker-3.log and so on; empty: no files.
  EchoChoice echo = EchoChoice::None;
  WorkerId echoed{};                                // With One: whose lines, without a prefix.
  int terminal = 1;                                 // Lent.
  int error_terminal = -1;                          // For what goes to stderr; -1: the same.
  bool starts_warm = true;                          // Where that is possible.
  std::vector<std::string> modules{"torch"};        // Of warm interpreters.
  std::chrono::milliseconds warm_patience{60'000};  // After that a worker starts cold.
  std::size_t warm_max = 8;                         // Interpreters, one per kind of environment.
  // How every worker is started; command, environment, directory and output come from elsewhere.
  ProcessGroup group = ProcessGroup::Own;
  std::vector<ResourceLimit> limits{};
  std::optional<int> nice{};
  std::optional<int> session_nice{};
  CgroupLimits cgroup{};
  // Hears each line of a worker's output with its end; may be absent.
  std::function<void(WorkerId worker, std::string_view line)> on_line{};
};

/// Starts workers warm if it can, cold if not; keeps what they say; knows why they ended. When this
/// object goes, or the process is killed, all of them end.
class LocalLauncher final : public Launcher {
 public:
  [[nodiscard]] static Result<std::unique_ptr<LocalLauncher>> open(LocalLaunchOptions options);

  [[nodiscard]] int descriptor() const override { return watch_.descriptor(); }
  [[nodiscard]] Status start(const WorkerStart& start) override;
  [[nodiscard]] Status signal(WorkerId worker, int signal) override;
  [[nodiscard]] std::vector<WorkerEnd> ended() override;

  /// With One: whose lines are shown from now on.
  void echo(WorkerId worker);
  /// Things that did not go as they should but stop nobody, each said once; since the last call.
  [[nodiscard]] std::vector<std::string> notes();
  /// The process of a worker; nothing while it waits for its start.
  [[nodiscard]] std::optional<pid_t> pid(WorkerId worker) const;
  /// True for a worker that was forked by a warm interpreter.
  [[nodiscard]] bool is_warm(WorkerId worker) const;

 private:
  struct Worker {
    WorkerStart start{};
    RankLog log;
    std::optional<WorkerCgroup> cgroup{};
    std::optional<Process> process{};  // Of one that started cold.
    bool is_warm = false;              // Started by the pool.
    std::vector<int> signals_sent{};
    int oom_kills_before = 0;
  };

  LocalLauncher(LocalLaunchOptions options, Watch watch, std::optional<GroupGuard> guard);

  [[nodiscard]] ProcessSpec process_spec(const Worker& worker) const;
  [[nodiscard]] bool start_warm(Worker& worker);
  [[nodiscard]] Status start_cold(Worker& worker);
  void give_cgroup(Worker& worker);
  void send(Worker& worker, int signal);
  [[nodiscard]] LineEchoes echoes_of(WorkerId worker);
  void flush(LineEcho& echo, bool& is_watched);
  void hear_warm(std::vector<WorkerEnd>& ends);
  void drain_logs();
  void end(WorkerId id, ExitStatus status, std::string lost, std::vector<WorkerEnd>& ends);
  void set_alarm();
  void note(std::string text);

  LocalLaunchOptions options_;
  Watch watch_;
  std::optional<GroupGuard> guard_;
  IsolationSupport isolation_;
  LineEcho terminal_;
  std::optional<LineEcho> error_terminal_;
  bool is_terminal_watched_ = false;
  bool is_error_terminal_watched_ = false;
  std::map<WorkerId, Worker> workers_{};
  WarmPool pool_;  // After what its workers use: they end first.
  std::vector<std::string> notes_{};
  std::set<std::string> noted_{};
};

}  // namespace rubato
