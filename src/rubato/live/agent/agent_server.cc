#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "rubato/live/agent/agent_rpc.h"
#include "rubato/wire/agent.grpc.pb.h"

namespace rubato {
namespace {

constexpr std::size_t kWaitingMax = 100'000;  // Messages to an agent that does not read.
constexpr std::size_t kAgentNameMax = 200;    // Bytes.
constexpr std::string_view kBearer = "Bearer ";

// Compares digests, so that time tells nothing of the token, not even its length.
bool is_token(std::string_view shown, std::string_view token) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> left{};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> right{};
  // NOLINTBEGIN: the bytes of a text
  SHA256(reinterpret_cast<const unsigned char*>(shown.data()), shown.size(), left.data());
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), right.data());
  // NOLINTEND
  return CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

bool is_welcome(const grpc::CallbackServerContext& context, const std::string& token) {
  if (token.empty()) {
    return true;
  }
  const auto found = context.client_metadata().find("authorization");
  std::string_view shown;
  if (found != context.client_metadata().end()) {
    shown = std::string_view(found->second.data(), found->second.size());
  }
  return shown.starts_with(kBearer) && is_token(shown.substr(kBearer.size()), token);
}

class AgentStream;

/// What the streams of a server have in common.
class StreamTable {
 public:
  StreamTable(AgentServerEvents events, std::string reserved)
      : events_(std::move(events)), reserved_(std::move(reserved)) {}

  [[nodiscard]] bool is_reserved(const std::string& agent) const {
    return !reserved_.empty() && agent == reserved_;
  }

  void hear(AgentStream& stream, const wire::FromAgent& message);
  void lose(AgentStream& stream);
  void send(const std::string& agent, const wire::ToAgent& message);

 private:
  AgentServerEvents events_;
  std::string reserved_;
  std::mutex mutex_;
  std::map<std::string, AgentStream*> streams_{};  // Each leaves before it ends.
};

/// One connection. Deletes itself when the library is done with it.
class AgentStream final : public grpc::ServerBidiReactor<wire::FromAgent, wire::ToAgent> {
 public:
  explicit AgentStream(StreamTable& table) : table_(table) {
    StartSendInitialMetadata();
    StartRead(&read_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      finish(grpc::Status::OK);
      return;
    }
    if (agent_.empty()) {
      agent_ = read_.hello().agent();
    }
    if (agent_.empty() || (read_.has_hello() && read_.hello().agent() != agent_)) {
      finish({grpc::StatusCode::INVALID_ARGUMENT,
              "the first word is hello, with the name that the agent keeps"});
      return;
    }
    if (table_.is_reserved(agent_) || agent_.size() > kAgentNameMax) {
      finish({grpc::StatusCode::INVALID_ARGUMENT, "no agent may have this name; see --name"});
      return;
    }
    table_.hear(*this, read_);
    const std::scoped_lock lock(mutex_);
    if (!is_finished_) {
      StartRead(&read_);
    }
  }

  void OnWriteDone(bool ok) override {
    const std::scoped_lock lock(mutex_);
    waiting_.pop_front();
    if (ok && !is_finished_ && !waiting_.empty()) {
      StartWrite(&waiting_.front());
    }
  }

  void OnCancel() override { finish(grpc::Status::CANCELLED); }

  void OnDone() override {
    table_.lose(*this);
    delete this;  // NOLINT: as the library wants it
  }

  void send(const wire::ToAgent& message) {
    const std::scoped_lock lock(mutex_);
    if (is_finished_ || waiting_.size() >= kWaitingMax) {
      return;
    }
    waiting_.push_back(message);
    if (waiting_.size() == 1) {
      StartWrite(&waiting_.front());
    }
  }

  void finish(const grpc::Status& status) {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(is_finished_, true)) {
      Finish(status);
    }
  }

  [[nodiscard]] const std::string& agent() const { return agent_; }

 private:
  StreamTable& table_;
  wire::FromAgent read_;
  std::string agent_{};
  std::mutex mutex_;
  std::deque<wire::ToAgent> waiting_{};  // The first is being written.
  bool is_finished_ = false;
};

void StreamTable::hear(AgentStream& stream, const wire::FromAgent& message) {
  {
    const std::scoped_lock lock(mutex_);
    AgentStream*& known = streams_[stream.agent()];
    if (known != nullptr && known != &stream) {
      known->finish(grpc::Status(grpc::StatusCode::ABORTED, "another agent has this name"));
    }
    known = &stream;
  }
  events_.on_message(stream.agent(), message);
}

void StreamTable::lose(AgentStream& stream) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = streams_.find(stream.agent());
    if (found == streams_.end() || found->second != &stream) {
      return;
    }
    streams_.erase(found);
  }
  events_.on_gone(stream.agent());
}

void StreamTable::send(const std::string& agent, const wire::ToAgent& message) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = streams_.find(agent); found != streams_.end()) {
    found->second->send(message);
  }
}

/// Turns away whoever has no token.
class TurnedAway final : public grpc::ServerBidiReactor<wire::FromAgent, wire::ToAgent> {
 public:
  TurnedAway() { Finish({grpc::StatusCode::UNAUTHENTICATED, "no such token"}); }
  void OnDone() override { delete this; }  // NOLINT: as the library wants it
};

class AttachService final : public wire::Agents::CallbackService {
 public:
  AttachService(StreamTable& table, std::string token) : table_(table), token_(std::move(token)) {}

  grpc::ServerBidiReactor<wire::FromAgent, wire::ToAgent>* Attach(
      grpc::CallbackServerContext* context) override {
    if (!is_welcome(*context, token_)) {
      return new TurnedAway();  // NOLINT: as the library wants it
    }
    return new AgentStream(table_);  // NOLINT: likewise
  }

 private:
  StreamTable& table_;
  std::string token_;
};

/// One agent, connected or not.
class NamedPort final : public AgentPort {
 public:
  NamedPort(StreamTable& table, std::string agent) : table_(table), agent_(std::move(agent)) {}
  void send(const wire::ToAgent& message) override { table_.send(agent_, message); }

 private:
  StreamTable& table_;
  std::string agent_;
};

std::shared_ptr<grpc::ServerCredentials> server_credentials(const AgentServerOptions& options) {
  if (options.certificate.empty()) {
    return grpc::InsecureServerCredentials();
  }
  grpc::SslServerCredentialsOptions ssl;
  ssl.pem_key_cert_pairs.push_back({options.key, options.certificate});
  return grpc::SslServerCredentials(ssl);
}

}  // namespace

class AgentServer::Engine {
 public:
  Engine(const AgentServerOptions& options, AgentServerEvents events)
      : table_(std::move(events), options.reserved), service_(table_, options.token) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(options.address, server_credentials(options), &port_);
    builder.RegisterService(&service_);
    // Agents ask for signs of life, see agent_client.cc.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
    // Two servers at one port would each hear half of the agents.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    server_ = builder.BuildAndStart();
  }
  ~Engine() {
    if (server_ != nullptr) {
      server_->Shutdown(std::chrono::system_clock::now());
    }
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] int port() const { return server_ == nullptr ? 0 : port_; }

  AgentPort& port_of(const std::string& agent) {
    const std::scoped_lock lock(mutex_);
    auto& port = ports_[agent];
    if (port == nullptr) {
      port = std::make_unique<NamedPort>(table_, agent);
    }
    return *port;
  }

 private:
  StreamTable table_;
  AttachService service_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<NamedPort>> ports_{};
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

AgentServer::AgentServer(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
AgentServer::~AgentServer() = default;

Result<std::unique_ptr<AgentServer>> AgentServer::open(const AgentServerOptions& options,
                                                       AgentServerEvents events) {
  auto engine = std::make_unique<Engine>(options, std::move(events));
  if (engine->port() == 0) {
    return Error{.code = ErrorCode::BadConfig,
                 .message = fmt::format("cannot listen for agents on {}", options.address)};
  }
  return std::unique_ptr<AgentServer>(new AgentServer(std::move(engine)));  // NOLINT: private
}

int AgentServer::port() const { return engine_->port(); }

AgentPort& AgentServer::port_of(const std::string& agent) { return engine_->port_of(agent); }

}  // namespace rubato
