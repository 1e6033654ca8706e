#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <grpcpp/grpcpp.h>

#include "rubato/live/agent/agent_rpc.h"
#include "rubato/wire/agent.grpc.pb.h"

namespace rubato {
namespace {

constexpr std::size_t kUnsentMax = 10'000;  // Messages to a controller that does not read.

/// One connection, from the attempt to its end.
class ControllerStream final : public grpc::ClientBidiReactor<wire::FromAgent, wire::ToAgent> {
 public:
  ControllerStream(wire::Agents::StubInterface& stub, const std::string& token,
                   const AgentClientEvents& events)
      : events_(events) {
    if (!token.empty()) {
      context_.AddMetadata("authorization", "Bearer " + token);
    }
    stub.async()->Attach(&context_, this);
    AddHold();  // Words are said by other threads.
    StartRead(&read_);
  }

  /// Apart from the constructor: hello, said as soon as the controller answers, needs to find us.
  void start() { StartCall(); }

  void OnReadInitialMetadataDone(bool ok) override {
    if (!ok) {
      return;
    }
    {
      const std::scoped_lock lock(mutex_);
      is_open_ = !is_closed_;
      was_open_ = true;
    }
    events_.on_connected();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      close();
      return;
    }
    events_.on_order(read_);
    StartRead(&read_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      close();
      return;
    }
    const std::scoped_lock lock(mutex_);
    waiting_.pop_front();
    if (is_open_ && !waiting_.empty()) {
      StartWrite(&waiting_.front());
    }
  }

  void OnDone(const grpc::Status& status) override {
    // Whoever waits destroys us, so nothing of ours is touched after the lock.
    const std::scoped_lock lock(mutex_);
    end_ = status.ok() ? "the controller has hung up" : status.error_message();
    changed_.notify_all();
  }

  void say(const wire::FromAgent& message) {
    const std::scoped_lock lock(mutex_);
    if (!is_open_ || waiting_.size() >= kUnsentMax) {
      return;
    }
    waiting_.push_back(message);
    if (waiting_.size() == 1) {
      StartWrite(&waiting_.front());
    }
  }

  void cancel() { context_.TryCancel(); }

  /// Waits for the end; why it ended.
  std::string wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return end_.has_value(); });
    return *end_;
  }
  [[nodiscard]] bool was_open() {
    const std::scoped_lock lock(mutex_);
    return was_open_;
  }

 private:
  void close() {
    {
      const std::scoped_lock lock(mutex_);
      is_open_ = false;
      if (std::exchange(is_closed_, true)) {
        return;
      }
    }
    context_.TryCancel();
    RemoveHold();
  }

  const AgentClientEvents& events_;
  grpc::ClientContext context_;
  wire::ToAgent read_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<wire::FromAgent> waiting_{};  // The first is being written.
  bool is_open_ = false;
  bool is_closed_ = false;
  bool was_open_ = false;
  std::optional<std::string> end_{};
};

std::shared_ptr<grpc::Channel> channel_to(const AgentClientOptions& options) {
  grpc::ChannelArguments arguments;
  // A controller whose machine is gone says nothing, not even that.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // We wait between attempts ourselves.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  auto credentials = grpc::InsecureChannelCredentials();
  if (!options.root_certificate.empty()) {
    grpc::SslCredentialsOptions ssl;
    ssl.pem_root_certs = options.root_certificate;
    credentials = grpc::SslCredentials(ssl);
  }
  return grpc::CreateCustomChannel(options.controller, credentials, arguments);
}

}  // namespace

class AgentClient::Engine {
 public:
  Engine(AgentClientOptions options, AgentClientEvents events)
      : options_(std::move(options)),
        events_(std::move(events)),
        stub_(wire::Agents::NewStub(channel_to(options_))),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}
  ~Engine() {
    thread_.request_stop();
    {
      const std::scoped_lock lock(mutex_);
      if (stream_ != nullptr) {
        stream_->cancel();
      }
    }
    wake_.notify_all();
    thread_.join();
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void say(const wire::FromAgent& message) {
    const std::scoped_lock lock(mutex_);
    if (stream_ != nullptr) {
      stream_->say(message);
    }
  }

 private:
  void run(const std::stop_token& stop) {
    Duration backoff = options_.backoff_min;
    while (!stop.stop_requested()) {
      const bool was_open = attach(stop);
      backoff = was_open ? options_.backoff_min : std::min(backoff * 2, options_.backoff_max);
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, backoff, [] { return false; });
    }
  }

  // One connection; true if the controller has answered.
  bool attach(const std::stop_token& stop) {
    ControllerStream stream(*stub_, options_.token, events_);
    {
      const std::scoped_lock lock(mutex_);
      stream_ = &stream;
      stream.start();
      if (stop.stop_requested()) {
        stream.cancel();
      }
    }
    const std::string reason = stream.wait();
    {
      const std::scoped_lock lock(mutex_);
      stream_ = nullptr;
    }
    if (events_.on_broken && !stop.stop_requested()) {
      events_.on_broken(reason);
    }
    return stream.was_open();
  }

  AgentClientOptions options_;
  AgentClientEvents events_;
  std::unique_ptr<wire::Agents::StubInterface> stub_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  ControllerStream* stream_ = nullptr;
  std::jthread thread_;
};

AgentClient::AgentClient(AgentClientOptions options, AgentClientEvents events)
    : engine_(std::make_unique<Engine>(std::move(options), std::move(events))) {}

AgentClient::~AgentClient() = default;

void AgentClient::say(const wire::FromAgent& message) { engine_->say(message); }

}  // namespace rubato
