#include "rubato/cli/http_client.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/cli/event_stream.h"
#include "rubato/cli/log_follower.h"
#include "rubato/cli/tiny_web_test.h"

namespace rubato {
namespace {

WebOptions options_for(const TinyWeb& server) {
  return {.server = parse_web_address(server.url()).value(), .timeout = std::chrono::seconds(10)};
}

std::string address_of(std::string_view text) {
  const auto address = parse_web_address(text);
  return address ? to_string(*address) : "";
}

TEST(WebAddress, ReadsWhatUsersWrite) {
  EXPECT_EQ(address_of("http://127.0.0.1:8421"), "http://127.0.0.1:8421");
  EXPECT_EQ(address_of("https://rubato.example/"), "https://rubato.example:443");
  EXPECT_EQ(address_of("localhost:80"), "http://localhost:80");
  EXPECT_EQ(address_of("http://[::1]:8421"), "http://[::1]:8421");
  for (const char* text : {"", "http://", "http://a:0", "http://a:x", "http://a/path", "ftp://a",
                           "http://[::1", "http://u@h", "http://a:65536", "http://[::1]x"}) {
    EXPECT_EQ(address_of(text), "") << text;
  }
}

TEST(WebClient, SendsWhatItIsToldAndReadsTheAnswer) {
  TinyWeb server([](const TinyRequest&) { return web_answer(201, "{\"id\": 1}"); });
  WebOptions options = options_for(server);
  options.token = "secret";
  WebClient client(options);

  const auto reply = client.send({.method = "POST",
                                  .target = "/v1/jobs",
                                  .body = "{}",
                                  .headers = {{"Idempotency-Key", "k"}}});

  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(reply->body, "{\"id\": 1}");
  EXPECT_EQ(reply->content_type, "application/json");
  const TinyRequest sent = server.requests().at(0);
  EXPECT_EQ(sent.line, "POST /v1/jobs HTTP/1.1");
  EXPECT_EQ(sent.body, "{}");
  EXPECT_TRUE(sent.has("Authorization: Bearer secret\r\n"));
  EXPECT_TRUE(sent.has("Idempotency-Key: k\r\n"));
  EXPECT_TRUE(sent.has("Content-Type: application/json\r\n"));
}

TEST(WebClient, KeepsTheConnection) {
  TinyWeb server([](const TinyRequest&) { return web_answer(200, "{}"); });
  WebClient client(options_for(server));

  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send({.target = "/v1/version"}));
  }

  EXPECT_EQ(server.connections(), 1);
}

TEST(WebClient, ComesBackWhenAKeptConnectionWasClosed) {
  TinyWeb server([](const TinyRequest&) { return web_answer(200, "{}") + "[close]"; });
  WebClient client(options_for(server));

  ASSERT_TRUE(client.send({.target = "/v1/version"}));
  ASSERT_TRUE(client.send({.target = "/v1/version"}));

  EXPECT_EQ(server.connections(), 2);
}

TEST(WebClient, DoesNotTryAgainOnAFreshConnection) {
  TinyWeb server([](const TinyRequest&) { return std::string{}; });
  WebClient client(options_for(server));

  EXPECT_FALSE(client.send({.target = "/v1/version"}));

  EXPECT_EQ(server.connections(), 1);
}

TEST(WebClient, SaysThatThereIsNoServer) {
  std::string url;
  {
    const TinyWeb gone([](const TinyRequest&) { return std::string{}; });
    url = gone.url();
  }
  WebClient client({.server = parse_web_address(url).value()});

  const auto reply = client.send({.target = "/v1/version"});

  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Io);
  EXPECT_NE(reply.error().message.find("rubato up"), std::string::npos) << reply.error().message;
}

TEST(WebClient, DoesNotWaitForEver) {
  TinyWeb server([](const TinyRequest&) { return std::string("HTTP/1.1 200 X\r\n"); });
  WebOptions options = options_for(server);
  options.timeout = std::chrono::milliseconds(50);
  WebClient client(options);

  const auto reply = client.send({.target = "/v1/version"});

  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().message.find("did not answer in time"), std::string::npos);
}

TEST(WebClient, RefusesWhatIsNoHttp) {
  TinyWeb server([](const TinyRequest&) { return std::string("hello\r\n\r\n[close]"); });
  WebClient client(options_for(server));

  EXPECT_FALSE(client.send({.target = "/v1/version"}));
}

TEST(WebClient, EscapesPathsAndQueries) {
  EXPECT_EQ(url_escaped("a b/c?d=é"), "a%20b%2Fc%3Fd%3D%C3%A9");
}

TEST(WebStream, ReadsABodyAsItGrows) {
  TinyWeb server([](const TinyRequest&) {
    return web_stream_head("text/plain") + web_chunk("one\n") + web_chunk("two\n") + web_chunk("");
  });

  auto stream = WebStream::open(options_for(server), {.target = "/v1/jobs/1/logs"});
  ASSERT_TRUE(stream);
  std::string text;
  while (!stream->is_over()) {
    const auto part = stream->read(std::chrono::milliseconds(20));
    ASSERT_TRUE(part) << part.error().message;
    text += *part;
  }

  EXPECT_EQ(text, "one\ntwo\n");
}

TEST(WebStream, AnErrorHasItsBody) {
  TinyWeb server([](const TinyRequest&) { return web_answer(404, "{\"detail\": \"no\"}"); });

  const auto stream = WebStream::open(options_for(server), {.target = "/x"});

  ASSERT_TRUE(stream);
  EXPECT_EQ(stream->head().status, 404);
  EXPECT_EQ(stream->head().body, "{\"detail\": \"no\"}");
}

TEST(LogFollower, GoesOnWhereTheLineBroke) {
  std::atomic<int> calls = 0;
  TinyWeb server([&](const TinyRequest&) {
    const bool is_first = calls++ == 0;
    return is_first ? web_stream_head("text/plain") + web_chunk("half a ") + "[close]"
                    : web_stream_head("text/plain") + web_chunk("line\n") + web_chunk("");
  });
  LogFollower log(options_for(server), "7", 0);

  std::string text;
  while (!log.is_over() && !log.failure()) {
    text += log.read(std::chrono::milliseconds(5));
  }

  EXPECT_EQ(text, "half a line\n");
  EXPECT_FALSE(log.failure());
  EXPECT_EQ(server.requests().at(0).line, "GET /v1/jobs/7/logs?from=0&follow=1 HTTP/1.1");
  EXPECT_EQ(server.requests().at(1).line, "GET /v1/jobs/7/logs?from=7&follow=1 HTTP/1.1");
}

TEST(LogFollower, StopsAtAJobThatIsNotThere) {
  TinyWeb server([](const TinyRequest&) { return web_answer(404, "{\"detail\": \"no job 7\"}"); });
  LogFollower log(options_for(server), "7", 0);

  EXPECT_EQ(log.read(std::chrono::milliseconds(5)), "");

  ASSERT_TRUE(log.failure());
  EXPECT_EQ(log.failure()->exit_code, 85);
  EXPECT_EQ(log.failure()->message, "no job 7");
}

TEST(LogFollower, GivesUpOnAServerThatStaysAway) {
  std::string url;
  {
    const TinyWeb gone([](const TinyRequest&) { return std::string{}; });
    url = gone.url();
  }
  LogFollower log({.server = parse_web_address(url).value()}, "7", 0, Duration{0});

  EXPECT_EQ(log.read(std::chrono::milliseconds(5)), "");

  ASSERT_TRUE(log.failure());
  EXPECT_EQ(log.failure()->exit_code, 69);
}

TEST(EventFollower, ReconnectsAfterTheLastEventItSaw) {
  std::atomic<int> calls = 0;
  TinyWeb server([&](const TinyRequest&) {
    const int call = calls++;
    const std::string event = fmt::format(
        "id: {}\nevent: job.started\ndata: {{\"sequence\": \"{}\", \"job\": \"4\"}}\n\n", call + 5,
        call + 5);
    return web_stream_head("text/event-stream") + web_chunk(": hello\n\n") + web_chunk(event) +
           "[close]";
  });
  EventFollower follower(options_for(server), "0");

  std::vector<std::uint64_t> seen;
  while (seen.size() < 2 && !follower.failure()) {
    for (const wire::EventRecord& event : follower.read(std::chrono::milliseconds(5))) {
      seen.push_back(event.sequence());
      EXPECT_EQ(event.job(), "4");
    }
  }

  EXPECT_EQ(seen, (std::vector<std::uint64_t>{5, 6}));
  EXPECT_TRUE(server.requests().at(0).has("Last-Event-ID: 0\r\n"));
  EXPECT_TRUE(server.requests().at(1).has("Last-Event-ID: 5\r\n"));
}

RC_GTEST_PROP(EventCutter, PartsOfAnySizeGiveTheSameEvents, ()) {
  const std::string text =
      ": comment\n\nid: 1\nevent: a\ndata: x\ndata: y\n\nid: 2\r\ndata: z\r\n\r\nretry: "
      "5\n\ndata:q\n\n";
  EventCutter cutter;
  std::vector<ServerEvent> events;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = *rc::gen::inRange<std::size_t>(1, 9);
    for (ServerEvent& event : cutter.feed(std::string_view(text).substr(at, length))) {
      events.push_back(std::move(event));
    }
    at += length;
  }

  RC_ASSERT(events.size() == 3U);
  RC_ASSERT(events[0].data == "x\ny");
  RC_ASSERT(events[0].type == "a");
  RC_ASSERT(events[1].id == "2");
  RC_ASSERT(events[1].data == "z");
  RC_ASSERT(events[2].data == "q");
}

}  // namespace
}  // namespace rubato
