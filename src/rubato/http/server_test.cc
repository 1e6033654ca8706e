#include "rubato/http/server.h"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/http/byte_client_test.h"

namespace rubato {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// Answers with what was asked.
HttpReply echoed(const HttpRequest& request) {
  HttpReply reply;
  reply.content_type = "text/plain";
  reply.body = request.method + " " + request.target + " " + request.body;
  return reply;
}

std::unique_ptr<HttpServer> served(HttpHandler handler = echoed, HttpLimits limits = {}) {
  auto server = HttpServer::start({.port = 0, .limits = limits}, std::move(handler));
  EXPECT_TRUE(server.ok()) << (server ? "" : server.error().message);
  return std::move(*server);
}

TEST(HttpServer, AnswersMoreThanOneRequestOnAConnection) {
  const auto server = served();
  RawClient client(server->port());

  const auto first = client.get("/one");
  const auto second = client.call("PUT", "/two", "hello");

  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.body, "GET /one ");
  EXPECT_EQ(second.body, "PUT /two hello");
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  const auto server = served();
  RawClient client(server->port());
  std::string all;
  for (const char* const path : {"/1", "/2", "/3"}) {
    all += std::string("GET ") + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }

  client.write(all);

  EXPECT_EQ(client.read_reply().body, "GET /1 ");
  EXPECT_EQ(client.read_reply().body, "GET /2 ");
  EXPECT_EQ(client.read_reply().body, "GET /3 ");
}

TEST(HttpServer, ClosesWhenTheClientWantsIt) {
  const auto server = served();
  RawClient client(server->port());
  RawClient old(server->port());

  EXPECT_EQ(client.get("/", "Connection: close\r\n").header("Connection"), "close");
  EXPECT_TRUE(client.ends());
  old.write("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_reply().status, 200);
  EXPECT_TRUE(old.ends());
}

TEST(HttpServer, TellsHeadOnlyTheLength) {
  const auto server = served();
  RawClient client(server->port());

  client.write("HEAD /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto head = client.read_reply(/*has_body=*/false);

  EXPECT_EQ(head.header("Content-Length"), "8");
  EXPECT_EQ(client.get("/after").body, "GET /after ");
}

TEST(HttpServer, ReadsARequestThatComesByteByByte) {
  const auto server = served();
  RawClient client(server->port());

  for (const char byte : std::string("POST /a HTTP/1.1\r\nHost: localhost\r\n"
                                     "Transfer-Encoding: chunked\r\n\r\n"
                                     "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n")) {
    client.write(std::string(1, byte));
  }

  EXPECT_EQ(client.read_reply().body, "POST /a abcde");
}

TEST(HttpServer, TellsAClientThatWaitsToGoOn) {
  const auto server = served();
  RawClient client(server->port());

  client.write(
      "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 100);
  client.write("ok");

  EXPECT_EQ(client.read_reply().body, "POST / ok");
}

TEST(HttpServer, RefusesMalformedRequestsAndCloses) {
  const auto server = served();
  const std::string start = "POST / HTTP/1.1\r\nHost: localhost\r\n";
  const std::pair<std::string, int> bad[] = {
      {"nonsense\r\n\r\n", 400},
      {std::string("\0\xff\x16\x03\x01", 5) + "\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {start + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {start + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n", 400},
      {start + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", 400},
      {start + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc", 400},
      {start + "Content-Length: -1\r\n\r\n", 400},
      {start + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
  };
  for (const auto& [bytes, status] : bad) {
    RawClient client(server->port());
    client.write(bytes);
    const auto reply = client.read_reply();

    EXPECT_EQ(reply.status, status) << bytes;
    EXPECT_EQ(reply.header("Content-Type"), "application/problem+json") << bytes;
    EXPECT_EQ(reply.header("X-Content-Type-Options"), "nosniff") << bytes;
    EXPECT_TRUE(client.ends()) << bytes;
  }
}

TEST(HttpServer, RefusesWhatIsTooLarge) {
  const auto server = served(echoed, {.head_bytes_max = 1024, .body_bytes_max = 1000});
  const auto status_for = [&server](const std::string& bytes) {
    RawClient client(server->port());
    client.write(bytes);
    const int status = client.read_reply().status;
    EXPECT_TRUE(client.ends());
    return status;
  };
  const std::string start = "POST / HTTP/1.1\r\nHost: localhost\r\n";

  EXPECT_EQ(status_for(start + "X: " + std::string(2000, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(status_for(start + "X: " + std::string(100000, 'x')), 431);
  EXPECT_EQ(status_for("GET /" + std::string(5000, 'x')), 431);
  EXPECT_EQ(status_for(start + "Content-Length: 1001\r\n\r\n"), 413);
  EXPECT_EQ(status_for(start + "Content-Length: 9000000\r\n\r\n" + std::string(200000, 'x')), 413);
  EXPECT_EQ(status_for(start + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n"), 413);
  EXPECT_EQ(status_for(start + "Connection: close\r\nContent-Length: 1000\r\n\r\n" +
                       std::string(1000, 'x')),
            200);
}

TEST(HttpServer, DoesNotWaitForSlowRequests) {
  const auto server = served(echoed, {.head = milliseconds(50), .body = milliseconds(50)});
  RawClient head(server->port());
  RawClient body(server->port());

  head.write("GET / HTTP/1.1\r\nHost: loc");
  body.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab");

  EXPECT_EQ(head.read_reply().status, 408);
  EXPECT_TRUE(head.ends());
  EXPECT_EQ(body.read_reply().status, 408);
  EXPECT_TRUE(body.ends());
}

TEST(HttpServer, ClosesIdleConnections) {
  const auto server = served(echoed, {.idle = milliseconds(30)});
  RawClient silent(server->port());
  RawClient used(server->port());

  used.get("/");

  EXPECT_TRUE(silent.ends());
  EXPECT_TRUE(used.ends());
}

TEST(HttpServer, TurnsConnectionsAwayWhenFullAndTakesThemAgainLater) {
  const auto server = served(echoed, {.connections_max = 1});
  auto first = std::make_unique<RawClient>(server->port());
  EXPECT_EQ(first->get("/").status, 200);

  RawClient second(server->port());
  EXPECT_EQ(second.read_reply().status, 503);
  EXPECT_TRUE(second.ends());

  first.reset();
  int status = 503;
  while (status == 503) {
    status = RawClient(server->port()).get("/").status;
  }
  EXPECT_EQ(status, 200);
}

TEST(HttpServer, AnErrorOfTheHandlerIsAnAnswerWithoutDetails) {
  const auto server =
      served([](const HttpRequest&) -> HttpReply { throw std::runtime_error("secret detail"); });
  RawClient client(server->port());

  const auto reply = client.get("/");

  EXPECT_EQ(reply.status, 500);
  EXPECT_THAT(reply.body, Not(HasSubstr("secret")));
  EXPECT_EQ(client.get("/again").status, 500);
}

TEST(HttpServer, AHandlerThatWaitsDoesNotHoldUpOthers) {
  std::promise<void> gate;
  const auto open = gate.get_future().share();
  const auto server = served([open](const HttpRequest& request) {
    if (request.target == "/slow") {
      open.wait();
    }
    return echoed(request);
  });
  RawClient slow(server->port());
  RawClient quick(server->port());

  slow.write("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(quick.get("/quick").status, 200);
  gate.set_value();

  EXPECT_EQ(slow.read_reply().body, "GET /slow ");
}

TEST(HttpServer, StoppingCompletesAnswersAndEndsIdleConnections) {
  std::promise<void> entered;
  std::promise<void> gate;
  const auto open = gate.get_future().share();
  const auto server = served([&entered, open](const HttpRequest& request) {
    if (request.target == "/slow") {
      entered.set_value();
      open.wait();
    }
    return echoed(request);
  });
  RawClient idle(server->port());
  idle.get("/");
  RawClient busy(server->port());
  busy.write("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
  entered.get_future().wait();

  auto stopped = std::async(std::launch::async, [&server] { server->stop(); });
  EXPECT_TRUE(idle.ends());
  gate.set_value();

  const auto reply = busy.read_reply();
  EXPECT_EQ(reply.body, "GET /slow ");
  EXPECT_EQ(reply.header("Connection"), "close");
  stopped.get();
  EXPECT_FALSE(RawClient(server->port()).is_connected());
  server->stop();
}

TEST(HttpServer, StoppingDoesNotWaitForARequestThatNeverComes) {
  const auto server = served(echoed, {.grace = milliseconds(50)});
  RawClient client(server->port());
  client.get("/");
  client.write("GET / HTTP/1.1\r\n");

  server->stop();

  EXPECT_TRUE(client.ends());
}

TEST(HttpServer, SaysWhyItCannotStart) {
  const auto server = served();
  const auto problem = [](HttpOptions options) {
    const auto started = HttpServer::start(options, echoed);
    return started ? std::string("started") : started.error().message;
  };

  EXPECT_THAT(problem({.port = server->port()}), HasSubstr("in use"));
  EXPECT_THAT(problem({.address = "nowhere", .port = 0}), HasSubstr("'nowhere'"));
  EXPECT_THAT(problem({.port = 0, .certificate_file = "a"}), HasSubstr("only one of them"));
  EXPECT_THAT(problem({.port = 0, .certificate_file = "absent.pem", .key_file = "absent.key"}),
              HasSubstr("absent.pem: no certificate"));
}

TEST(HttpServer, KnowsLoopbackAddresses) {
  EXPECT_TRUE(*is_loopback_address("127.0.0.1"));
  EXPECT_TRUE(*is_loopback_address("::1"));
  EXPECT_FALSE(*is_loopback_address("0.0.0.0"));
  EXPECT_FALSE(*is_loopback_address("::"));
  EXPECT_FALSE(is_loopback_address("localhost").ok());
}

TEST(HttpServer, NoValueCanAddAHeader) {
  const auto server = served([](const HttpRequest&) {
    HttpReply reply;
    reply.headers.emplace_back("Location", "/a\r\nSet-Cookie: x");
    return reply;
  });
  RawClient client(server->port());

  EXPECT_EQ(client.get("/").header("Location"), "/a  Set-Cookie: x");
}

}  // namespace
}  // namespace rubato
