#include <condition_variable>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/http/byte_client_test.h"
#include "rubato/http/server.h"

namespace rubato {
namespace {

using std::chrono::milliseconds;

// What a test puts in, as a stream; it outlives the stream.
class Tap {
 public:
  void put(HttpStream::Part part) {
    std::function<void()> wake;
    {
      const std::lock_guard lock(mutex_);
      parts_.push_back(std::move(part));
      wake = wake_;
    }
    if (wake) {
      wake();
    }
  }

  void open(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
    ++open_;
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    --open_;
    changed_.notify_all();
  }
  HttpStream::Part next(bool is_quiet) {
    const std::lock_guard lock(mutex_);
    if (is_endless) {
      return {.bytes = std::string(1 << 16, 'x')};
    }
    if (parts_.empty()) {
      return {.bytes = is_quiet ? "quiet" : ""};
    }
    HttpStream::Part part = std::move(parts_.front());
    parts_.erase(parts_.begin());
    return part;
  }
  void wait_until_open(int count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60),
                                  [this, count] { return open_ == count; }));
  }

  std::chrono::milliseconds pause = std::chrono::hours(1);
  bool is_endless = false;

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::vector<HttpStream::Part> parts_{};
  std::function<void()> wake_{};
  int open_ = 0;
};

class TapStream final : public HttpStream {
 public:
  explicit TapStream(Tap& tap) : tap_(tap) {}
  ~TapStream() override { tap_.close(); }
  TapStream(const TapStream&) = delete;
  TapStream& operator=(const TapStream&) = delete;
  void open(std::function<void()> wake) override { tap_.open(std::move(wake)); }
  Part next(bool is_quiet) override { return tap_.next(is_quiet); }
  [[nodiscard]] std::chrono::milliseconds pause() const override { return tap_.pause; }

 private:
  Tap& tap_;
};

std::unique_ptr<HttpServer> tapped(Tap& tap, HttpLimits limits = {}) {
  auto server = HttpServer::start({.port = 0, .limits = limits}, [&tap](const HttpRequest&) {
    HttpReply reply;
    reply.content_type = "text/plain";
    reply.stream = std::make_unique<TapStream>(tap);
    return reply;
  });
  EXPECT_TRUE(server.ok());
  return std::move(*server);
}

constexpr std::string_view kAsk = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(HttpStream, SendsPartsWhenTheyComeAndTheEnd) {
  Tap tap;
  const auto server = tapped(tap);
  RawClient client(server->port());

  client.write(kAsk);
  EXPECT_EQ(client.read_head().header("Transfer-Encoding"), "chunked");
  tap.wait_until_open(1);
  tap.put({.bytes = "one"});
  EXPECT_EQ(client.read_chunk(), "one");
  tap.put({.bytes = "two"});
  EXPECT_EQ(client.read_chunk(), "two");
  tap.put({.bytes = "three", .going = HttpStream::Going::Over});
  EXPECT_EQ(client.read_chunk(), "three");

  EXPECT_EQ(client.read_chunk(), "");
  EXPECT_TRUE(client.ends());
  tap.wait_until_open(0);
}

TEST(HttpStream, ABrokenStreamDoesNotLookComplete) {
  Tap tap;
  tap.put({.bytes = "half", .going = HttpStream::Going::Broken});
  const auto server = tapped(tap);
  RawClient client(server->port());

  client.write(kAsk);
  const auto reply = client.read_reply();

  EXPECT_EQ(reply.body, "half");
  EXPECT_FALSE(reply.is_complete);
}

TEST(HttpStream, AsksAgainAfterAPause) {
  Tap tap;
  tap.pause = milliseconds(5);
  const auto server = tapped(tap);
  RawClient client(server->port());

  client.write(kAsk);
  client.read_head();

  EXPECT_EQ(client.read_chunk(), "quiet");
  EXPECT_EQ(client.read_chunk(), "quiet");
}

TEST(HttpStream, AnOldClientGetsBytesUntilTheEnd) {
  Tap tap;
  tap.put({.bytes = "one"});
  tap.put({.bytes = "two", .going = HttpStream::Going::Over});
  const auto server = tapped(tap);
  RawClient client(server->port());

  client.write("GET / HTTP/1.0\r\n\r\n");
  const auto reply = client.read_reply();

  EXPECT_EQ(reply.header("Transfer-Encoding"), "");
  EXPECT_EQ(reply.body, "onetwo");
}

TEST(HttpStream, EndsWhenTheClientLeaves) {
  Tap tap;
  const auto server = tapped(tap);
  auto client = std::make_unique<RawClient>(server->port());
  client->write(kAsk);
  client->read_head();
  tap.wait_until_open(1);

  client.reset();

  tap.wait_until_open(0);
}

TEST(HttpStream, AReaderThatDoesNotReadIsDropped) {
  Tap tap;
  tap.is_endless = true;
  const auto server = tapped(tap, {.write = milliseconds(100)});
  RawClient client(server->port());

  client.write(kAsk);
  tap.wait_until_open(1);

  tap.wait_until_open(0);
}

TEST(HttpStream, ThereAreOnlySoMany) {
  Tap tap;
  const auto server = tapped(tap, {.streams_max = 1});
  auto first = std::make_unique<RawClient>(server->port());
  first->write(kAsk);
  EXPECT_EQ(first->read_head().status, 200);
  RawClient second(server->port());

  second.write(kAsk);

  EXPECT_EQ(second.read_reply().status, 503);
}

TEST(HttpStream, AHeadRequestOpensNone) {
  Tap tap;
  const auto server = tapped(tap);
  RawClient client(server->port());

  client.write("HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");

  EXPECT_EQ(client.read_reply(/*has_body=*/false).status, 200);
  EXPECT_TRUE(client.ends());
}

TEST(HttpStream, StoppingTheServerEndsIt) {
  Tap tap;
  const auto server = tapped(tap);
  RawClient client(server->port());
  client.write(kAsk);
  client.read_head();
  tap.wait_until_open(1);

  server->stop();

  EXPECT_FALSE(client.read_chunk().has_value());
  EXPECT_TRUE(client.ends());
}

}  // namespace
}  // namespace rubato
