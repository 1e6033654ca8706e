#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/cli/client/event_stream.h"
#include "rubato/cli/client/log_follower.h"
#include "rubato/http/client.h"
#include "rubato/http/tiny_web_test.h"

namespace rubato {
namespace {

WebOptions options_for(const TinyWeb& server) {
  return {.server = parse_web_address(server.url()).value(), .timeout = std::chrono::seconds(10)};
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
