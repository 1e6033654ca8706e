// Both ends in one process, over loopback.
#include "rubato/live/agent/agent_rpc.h"

#include <condition_variable>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

/// Remembers words, and waits for them.
class Notebook {
 public:
  void write(const std::string& word) {
    {
      const std::scoped_lock lock(mutex_);
      words_.push_back(word);
    }
    changed_.notify_all();
  }
  /// Waits for a word behind the one that was awaited last.
  void await(const std::string& word) {
    std::unique_lock lock(mutex_);
    while (true) {
      for (; next_ < words_.size(); ++next_) {
        if (words_[next_] == word) {
          ++next_;
          return;
        }
      }
      changed_.wait(lock);
    }
  }
  [[nodiscard]] bool has(const std::string& word) {
    const std::scoped_lock lock(mutex_);
    return std::ranges::count(words_, word) > 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

class AgentRpcTest : public testing::Test {
 protected:
  void serve(const std::string& token = "", int port = 0) {
    // The port of a server that has gone may take a moment to be free.
    while (server_ == nullptr) {
      auto server = AgentServer::open(
          {.address = "127.0.0.1:" + std::to_string(port), .token = token},
          {.on_message =
               [this](const std::string& agent, const wire::FromAgent& message) {
                 controller_.write(agent +
                                   (message.has_hello()
                                        ? " hello"
                                        : " alive " + std::to_string(message.alive().count())));
               },
           .on_gone = [this](const std::string& agent) { controller_.write(agent + " gone"); }});
      if (server) {
        server_ = std::move(*server);
      }
    }
    port_ = server_->port();
  }
  std::unique_ptr<AgentClient> connect(Notebook& notes, const std::string& token = "") {
    AgentClientOptions options{.controller = "127.0.0.1:" + std::to_string(port_),
                               .token = token,
                               .backoff_min = std::chrono::milliseconds(1),
                               .backoff_max = std::chrono::milliseconds(20)};
    return std::make_unique<AgentClient>(
        std::move(options),
        AgentClientEvents{
            .on_order = [&](const wire::ToAgent& order) { notes.write(order.forget().job()); },
            .on_connected = [&] { notes.write("connected"); },
            .on_broken = [&](const std::string& reason) { notes.write(reason); }});
  }
  static wire::FromAgent hello(const std::string& name) {
    wire::FromAgent message;
    message.mutable_hello()->set_agent(name);
    return message;
  }
  static wire::FromAgent alive(std::uint64_t count) {
    wire::FromAgent message;
    message.mutable_alive()->set_count(count);
    return message;
  }
  static wire::ToAgent forget(const std::string& job) {
    wire::ToAgent message;
    message.mutable_forget()->set_job(job);
    return message;
  }

  Notebook controller_;
  Notebook agent_;
  int port_ = 0;
  std::unique_ptr<AgentServer> server_;
};

TEST_F(AgentRpcTest, CarriesWordsInOrder) {
  serve("secret");
  const auto client = connect(agent_, "secret");
  agent_.await("connected");
  client->say(hello("a"));
  controller_.await("a hello");

  for (int i = 1; i <= 500; ++i) {
    client->say(alive(static_cast<std::uint64_t>(i)));
    server_->port_of("a").send(forget(std::to_string(i)));
  }

  for (int i = 1; i <= 500; ++i) {
    controller_.await("a alive " + std::to_string(i));
    agent_.await(std::to_string(i));
  }
}

TEST_F(AgentRpcTest, TurnsAwayWhoeverHasNoToken) {
  serve("secret");

  const auto wrong = connect(agent_, "secreT");
  agent_.await("no such token");
  Notebook other;
  const auto none = connect(other);
  other.await("no such token");

  wrong->say(hello("a"));
  agent_.await("no such token");
  EXPECT_FALSE(agent_.has("connected"));
  EXPECT_FALSE(controller_.has("a hello"));
}

TEST_F(AgentRpcTest, ConnectsAgainWhenTheControllerIsBack) {
  serve();
  const auto client = connect(agent_);
  agent_.await("connected");
  client->say(hello("a"));
  controller_.await("a hello");

  server_.reset();
  controller_.await("a gone");
  client->say(alive(1));  // Lost.
  serve("", port_);

  agent_.await("connected");
  client->say(hello("a"));
  controller_.await("a hello");
  server_->port_of("a").send(forget("7"));
  agent_.await("7");
  EXPECT_FALSE(controller_.has("a alive 1"));
}

TEST_F(AgentRpcTest, WaitsForAControllerThatIsNotThereYet) {
  serve();
  server_.reset();
  const auto client = connect(agent_);

  serve("", port_);

  agent_.await("connected");
}

TEST_F(AgentRpcTest, TellsOfAnAgentThatIsGone) {
  serve();
  auto client = connect(agent_);
  agent_.await("connected");
  client->say(hello("a"));
  controller_.await("a hello");

  client.reset();

  controller_.await("a gone");
  server_->port_of("a").send(forget("7"));  // To nobody.
}

TEST_F(AgentRpcTest, ANewAgentTakesThePlaceOfTheOldOne) {
  serve();
  const auto first = connect(agent_);
  agent_.await("connected");
  first->say(hello("a"));
  controller_.await("a hello");

  Notebook other;
  const auto second = connect(other);
  other.await("connected");
  second->say(hello("a"));
  controller_.await("a hello");

  agent_.await("another agent has this name");
  server_->port_of("a").send(forget("7"));
  other.await("7");
}

TEST_F(AgentRpcTest, WantsToKnowWhoSpeaks) {
  serve();
  const auto client = connect(agent_);
  agent_.await("connected");

  client->say(alive(1));

  agent_.await("the first word is hello, with the name that the agent keeps");
}

TEST_F(AgentRpcTest, SaysThatItCannotListen) {
  const auto server = AgentServer::open({.address = "256.0.0.1:1"}, {});

  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.error().code, ErrorCode::BadConfig);
}

}  // namespace
}  // namespace rubato
