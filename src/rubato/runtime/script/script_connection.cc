#include "rubato/runtime/script/script_connection.h"

#include <algorithm>
#include <chrono>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace rubato::runtime::script {
namespace {

using SteadyClock = std::chrono::steady_clock;
using wire::script::FromScript;
using wire::script::ToScript;

constexpr const char* kLost = "the program that runs this job is gone";

Error lost_connection() { return Error{.code = ErrorCode::Io, .message = kLost}; }

}  // namespace

ScriptConnection::ScriptConnection(UnixChannel channel, LeaderState& state, Duration shrink_grace)
    : channel_(std::move(channel)),
      state_(state),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      replicas_(shrink_grace) {}

ScriptConnection::~ScriptConnection() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

Result<std::unique_ptr<ScriptConnection>> ScriptConnection::open(const ScriptAddress& address,
                                                                 LeaderState& state,
                                                                 Duration shrink_grace) {
  auto channel = UnixChannel::connect(address.socket);
  if (!channel) {
    return channel.error();
  }
  std::unique_ptr<ScriptConnection> connection(
      new ScriptConnection(std::move(*channel), state,  // NOLINT: the constructor is private
                           shrink_grace));
  FromScript message;
  wire::script::Hello& hello = *message.mutable_hello();
  hello.set_version(kScriptProtocol);
  hello.set_worker(address.worker);
  hello.set_token(address.token);
  hello.set_pid(::getpid());
  hello.set_step(state.step);
  hello.set_workers(state.computing);
  if (Status sent = connection->channel_.send(message.SerializeAsString()); !sent) {
    return sent.error();
  }
  if (Status status = connection->await_welcome(); !status) {
    return status.error();
  }
  connection->thread_ =
      std::jthread([raw = connection.get()](const std::stop_token& stop) { raw->run(stop); });
  connection->thread_id_.wait(0);
  return connection;
}

Status ScriptConnection::await_welcome() {
  bool is_welcome = false;
  while (!is_welcome) {
    pollfd ready{.fd = channel_.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, -1);
    auto frames = channel_.receive();
    if (!frames) {
      return lost_connection();
    }
    for (Frame& frame : *frames) {
      ToScript message;
      if (!message.ParseFromString(frame.bytes)) {
        return bad_input("the program that runs this job speaks another protocol");
      }
      is_welcome = is_welcome || message.has_welcome();
      handle(message, std::move(frame.descriptors));
    }
  }
  return ok_status();
}

void ScriptConnection::run(const std::stop_token& stop) {
  thread_id_ = static_cast<pid_t>(::syscall(SYS_gettid));
  thread_id_.notify_all();
  const auto period = std::chrono::microseconds(welcome_.heartbeat_us());
  auto next = SteadyClock::now();
  while (!stop.stop_requested()) {
    if (SteadyClock::now() >= next) {
      // A reader that is stopped must not stop us: the next beat says what this one would have.
      if (channel_.has_room()) {
        tell_alive();
      }
      next = SteadyClock::now() + period;
    }
    wait(next);
    if (!receive()) {
      leave(kLost);
      return;
    }
    end_surplus();
  }
}

// Until something arrives, a grace ends or a replica that was killed is gone.
void ScriptConnection::wait(SteadyClock::time_point until) {
  std::vector<pollfd> ready{{.fd = channel_.descriptor(), .events = POLLIN, .revents = 0},
                            {.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  {
    const std::scoped_lock lock(mutex_);
    until = std::min(until, replicas_.deadline().value_or(until));
    for (const int process : replicas_.dying()) {
      ready.push_back({.fd = process, .events = POLLIN, .revents = 0});
    }
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now());
  ::poll(ready.data(), ready.size(), static_cast<int>(std::max<std::int64_t>(0, left.count())));
  if (ready[1].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t read = ::read(wake_.get(), &count, sizeof(count));
  }
}

bool ScriptConnection::receive() {
  auto frames = channel_.receive();
  if (!frames) {
    return false;
  }
  for (Frame& frame : *frames) {
    ToScript message;
    if (!message.ParseFromString(frame.bytes)) {
      return false;
    }
    handle(message, std::move(frame.descriptors));
  }
  return true;
}

void ScriptConnection::handle(const ToScript& message, std::vector<Descriptor> descriptors) {
  switch (message.kind_case()) {
    case ToScript::kWelcome:
      welcome_ = message.welcome();
      resume_memory_ = descriptors.empty() ? Descriptor{} : std::move(descriptors.front());
      state_.want({.order = welcome_.order(), .workers = welcome_.workers()});
      if (welcome_.resume_bytes() > 0) {
        state_.step = welcome_.resume_step();  // Before the first heartbeat says otherwise.
      }
      break;
    case ToScript::kSetWorkers:
      state_.want(
          {.order = message.set_workers().order(), .workers = message.set_workers().workers()});
      break;
    case ToScript::kSnapshotNow:
      state_.wants_snapshot = true;
      break;
    case ToScript::kSnapshotFree: {
      const std::scoped_lock lock(mutex_);
      free_snapshots_.push_back(message.snapshot_free().slot());
      break;
    }
    case ToScript::kSuspend:
      state_.wants_suspend = true;
      tell_suspended_again();
      break;
    case ToScript::kResume: {
      const std::scoped_lock lock(mutex_);
      state_.wants_suspend = false;
      break;
    }
    case ToScript::kExit:
      leave(message.exit().reason());
      break;
    default:
      break;
  }
  changed_.notify_all();
  limit_replicas();
}

// One who is to be suspended may have none.
void ScriptConnection::limit_replicas() {
  const std::scoped_lock lock(mutex_);
  const auto workers = static_cast<int>(state_.wanted().workers);
  replicas_.allow(state_.wants_suspend ? 1 : workers, SteadyClock::now());
}

// A script that still waits from the last time will not say so itself.
void ScriptConnection::tell_suspended_again() {
  {
    const std::scoped_lock lock(mutex_);
    if (!is_waiting_) {
      return;
    }
  }
  FromScript message;
  message.mutable_suspended()->set_step(state_.step);
  send(message);
}

// Whoever asked for the slots hears at once that they are free.
void ScriptConnection::end_surplus() {
  {
    const std::scoped_lock lock(mutex_);
    replicas_.enforce(SteadyClock::now());
    if (!replicas_.collect()) {
      return;
    }
    state_.computing = static_cast<std::uint32_t>(1 + replicas_.count());
  }
  tell_alive();
}

void ScriptConnection::leave(const std::string& reason) {
  {
    const std::scoped_lock lock(mutex_);
    if (exit_reason_.empty()) {
      exit_reason_ = reason.empty() ? "told to leave" : reason;
    }
  }
  changed_.notify_all();
}

void ScriptConnection::send(const FromScript& message, const std::vector<int>& lent) {
  const std::scoped_lock lock(send_mutex_);
  [[maybe_unused]] const Status sent = channel_.send(message.SerializeAsString(), lent);
}

// The state is read under the lock: what is said later must never be older.
void ScriptConnection::tell_alive() {
  const std::scoped_lock lock(send_mutex_);
  FromScript message;
  wire::script::Alive& alive = *message.mutable_alive();
  alive.set_step(state_.step);
  alive.set_workers(state_.computing);
  alive.set_loss(state_.loss);
  alive.set_has_loss(state_.has_loss);
  alive.set_epoch(state_.epoch);
  [[maybe_unused]] const Status sent = channel_.send(message.SerializeAsString());
}

void ScriptConnection::set_replicas(std::span<const pid_t> pids) {
  {
    const std::scoped_lock lock(mutex_);
    replicas_.set(pids, SteadyClock::now());
    state_.computing = static_cast<std::uint32_t>(1 + replicas_.count());
  }
  // The thread may have to see to those that are too many.
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

// The lock is not held while the state is written: heartbeats go on meanwhile.
Status ScriptConnection::write_snapshot(std::uint64_t step, std::span<const std::byte> state) {
  std::vector<std::uint32_t> freed;
  {
    const std::scoped_lock lock(mutex_);
    freed.swap(free_snapshots_);
  }
  for (const std::uint32_t slot : freed) {
    snapshots_.release(slot);
  }
  const auto written = snapshots_.write(step, state);
  if (!written) {
    return written.error();
  }
  FromScript message;
  wire::script::SnapshotWritten& body = *message.mutable_snapshot_written();
  body.set_slot(written->slot);
  body.set_step(step);
  body.set_bytes(written->bytes);
  send(message, {written->memory});
  return ok_status();
}

Result<std::optional<std::string>> ScriptConnection::resume_state() const {
  if (welcome_.resume_bytes() == 0 || !resume_memory_.is_open()) {
    return std::optional<std::string>{};
  }
  auto state = read_state(resume_memory_.get(), welcome_.resume_bytes());
  if (!state) {
    return state.error();
  }
  return std::optional(std::move(*state));
}

std::vector<int> ScriptConnection::descriptors() const {
  std::vector<int> found{channel_.descriptor(), wake_.get()};
  if (resume_memory_.is_open()) {
    found.push_back(resume_memory_.get());
  }
  const std::vector<int> snapshots = snapshots_.descriptors();
  found.insert(found.end(), snapshots.begin(), snapshots.end());
  const std::scoped_lock lock(mutex_);
  const std::vector<int> replicas = replicas_.descriptors();
  found.insert(found.end(), replicas.begin(), replicas.end());
  return found;
}

void ScriptConnection::abandon_in_copy() {
  channel_ = UnixChannel(Descriptor{});
  resume_memory_ = Descriptor{};
  wake_ = Descriptor{};
  snapshots_.clear();
}

bool ScriptConnection::wait_resume() {
  std::unique_lock lock(mutex_);
  is_waiting_ = true;
  changed_.wait(lock, [&] { return !state_.wants_suspend || !exit_reason_.empty(); });
  is_waiting_ = false;
  return exit_reason_.empty();
}

std::string ScriptConnection::exit_reason() const {
  const std::scoped_lock lock(mutex_);
  return exit_reason_;
}

}  // namespace rubato::runtime::script
