#include "rubato/runtime/worker/conductor_link.h"

#include <array>
#include <chrono>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace rubato {
namespace {

Error lost(std::string_view doing) {
  return Error{.code = ErrorCode::Io,
               .message = fmt::format("the conductor of this job was lost while {}", doing)};
}

}  // namespace

ConductorLink::ConductorLink(UnixChannel channel, GroupInbox& inbox, WorkerPulse& pulse)
    : channel_(std::move(channel)),
      inbox_(inbox),
      pulse_(pulse),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

ConductorLink::~ConductorLink() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

Result<std::unique_ptr<ConductorLink>> ConductorLink::open(const LinkSetup& setup,
                                                           GroupInbox& inbox, WorkerPulse& pulse) {
  auto channel = UnixChannel::connect(setup.socket);
  if (!channel) {
    return channel.error();
  }
  std::unique_ptr<ConductorLink> link(
      new ConductorLink(std::move(*channel), inbox, pulse));  // NOLINT: the constructor is private
  wire::FromWorker message;
  wire::Hello& hello = *message.mutable_hello();
  hello.set_worker(setup.worker);
  hello.set_token(setup.token);
  hello.set_pid(::getpid());
  hello.set_parameter_bytes(setup.parameter_bytes);
  hello.set_gradient_floats(setup.floats);
  hello.set_host(setup.host);
  if (Status sent = link->channel_.send(message.SerializeAsString(), {setup.arena}); !sent) {
    return sent.error();
  }
  if (Status status = link->await_welcome(); !status) {
    return status.error();
  }
  link->thread_ = std::jthread([raw = link.get()](const std::stop_token& stop) { raw->run(stop); });
  return link;
}

Status ConductorLink::await_welcome() {
  bool is_welcome = false;
  while (!is_welcome) {
    pollfd ready{.fd = channel_.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, -1);
    auto frames = channel_.receive();
    if (!frames) {
      return lost("saying hello");
    }
    for (Frame& frame : *frames) {
      wire::FromConductor message;
      if (!message.ParseFromString(frame.bytes)) {
        return bad_input("the conductor of this job speaks another language");
      }
      if (message.has_welcome()) {
        welcome_ = message.welcome();
        is_welcome = true;
      } else {
        handle(message, std::move(frame.descriptors));
      }
    }
  }
  return ok_status();
}

void ConductorLink::run(const std::stop_token& stop) {
  const auto period = std::chrono::microseconds(welcome_.heartbeat_us());
  auto next = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next) {
      beat();
      next = now + period;
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - now);
    std::array<pollfd, 2> ready{pollfd{.fd = channel_.descriptor(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    ::poll(ready.data(), ready.size(), static_cast<int>(wait.count()));
    if (ready[0].revents != 0 && !receive()) {
      drop();
      return;
    }
  }
}

// Ends all waiting: nobody will answer any more.
void ConductorLink::drop() {
  {
    const std::scoped_lock lock(table_mutex_);
    is_lost_ = true;
  }
  table_changed_.notify_all();
  inbox_.end(InboxEnd::ConductorLost);
}

bool ConductorLink::receive() {
  auto frames = channel_.receive();
  if (!frames) {
    return false;
  }
  for (Frame& frame : *frames) {
    wire::FromConductor message;
    if (!message.ParseFromString(frame.bytes)) {
      return false;
    }
    handle(message, std::move(frame.descriptors));
  }
  return true;
}

void ConductorLink::handle(const wire::FromConductor& message,
                           std::vector<Descriptor> descriptors) {
  if (message.has_generation()) {
    post(message.generation(), std::move(descriptors));
  } else if (message.has_exit()) {
    inbox_.end(InboxEnd::Exit);
  } else if (message.has_snapshot_now()) {
    wants_snapshot_ = true;
  } else {
    const std::scoped_lock lock(table_mutex_);
    if (message.has_table_value()) {
      table_[message.table_value().key()] = message.table_value().value();
    } else if (message.has_snapshot_free()) {
      free_snapshots_.push_back(message.snapshot_free().slot());
    }
  }
  table_changed_.notify_all();
}

void ConductorLink::post(const wire::Generation& generation, std::vector<Descriptor> descriptors) {
  GenerationPost posted{.number = generation.number(), .is_forced = generation.is_forced()};
  for (const wire::Member& member : generation.members()) {
    posted.members.push_back(MemberName{.worker = member.worker(), .host = member.host()});
  }
  auto next = descriptors.begin();
  const auto take = [&] { return next == descriptors.end() ? Descriptor{} : std::move(*next++); };
  posted.meeting = take();
  for (const std::uint64_t worker : generation.new_arenas()) {
    posted.arenas.push_back(ArenaPost{.worker = worker, .memory = take()});
  }
  if (generation.resume_bytes() > 0) {
    posted.snapshot = take();
    posted.snapshot_bytes = generation.resume_bytes();
    posted.snapshot_step = generation.resume_step();
  }
  inbox_.publish(std::move(posted));
}

void ConductorLink::beat() {
  // A conductor that is stopped must not stop us: what we would say now, the next beat says.
  if (!channel_.has_room()) {
    return;
  }
  const PulseReading reading = pulse_.take();
  wire::FromWorker message;
  wire::Heartbeat& heartbeat = *message.mutable_heartbeat();
  heartbeat.set_step(reading.step);
  heartbeat.set_epoch(reading.epoch);
  heartbeat.set_loss(reading.loss);
  heartbeat.set_compute_seconds(reading.compute_seconds);
  heartbeat.set_reduce_seconds(reading.reduce_seconds);
  heartbeat.set_data_seconds(reading.data_seconds);
  heartbeat.set_steps(reading.steps);
  heartbeat.set_samples(reading.samples);
  heartbeat.set_noise_scale(reading.noise_scale);
  heartbeat.set_efficiency(reading.efficiency);
  heartbeat.set_batch(reading.batch);
  send(message);
}

void ConductorLink::send(const wire::FromWorker& message, const std::vector<int>& descriptors) {
  const std::scoped_lock lock(send_mutex_);
  // A failed send means that the conductor is gone; the reading thread finds that out too.
  [[maybe_unused]] const Status sent = channel_.send(message.SerializeAsString(), descriptors);
}

std::vector<std::uint32_t> ConductorLink::take_free_snapshots() {
  const std::scoped_lock lock(table_mutex_);
  return std::exchange(free_snapshots_, {});
}

Status ConductorLink::set(std::string_view key, std::string_view value) {
  wire::FromWorker message;
  message.mutable_table_set()->set_key(std::string(key));
  message.mutable_table_set()->set_value(std::string(value));
  send(message);
  return ok_status();
}

Result<std::string> ConductorLink::get(std::string_view key, Duration patience) {
  wire::FromWorker message;
  message.mutable_table_get()->set_key(std::string(key));
  send(message);
  std::unique_lock lock(table_mutex_);
  const auto has_come = [&] { return table_.contains(key) || is_lost_; };
  if (!table_changed_.wait_for(lock, patience, has_come)) {
    return Error{.code = ErrorCode::NotFound,
                 .message = fmt::format("nobody has set '{}' in time", key)};
  }
  const auto found = table_.find(key);
  if (found == table_.end()) {
    return lost("looking up a key");
  }
  return found->second;
}

}  // namespace rubato
