#include "rubato/http/client.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/http/tiny_web_test.h"

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

}  // namespace
}  // namespace rubato
