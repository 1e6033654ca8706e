#include "rubato/live/rest/rest_server.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/http/byte_client_test.h"
#include "rubato/http/certificate_test.h"
#include "rubato/live/service/memory_platform_test.h"

namespace rubato {
namespace {

using testing::HasSubstr;

std::unique_ptr<RestServer> rest_served(Platform& platform, RestOptions options = {}) {
  options.http.port = 0;
  auto server = RestServer::start(platform, std::move(options));
  EXPECT_TRUE(server.ok()) << (server ? "" : server.error().message);
  return std::move(*server);
}

constexpr std::string_view kAskForEvents =
    "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n";

TEST(RestServer, CarriesTheInterface) {
  MemoryPlatform platform;
  const auto server = rest_served(platform);
  RawClient client(server->port());

  const auto submitted = client.call("POST", "/v1/jobs", R"({"steps":3})");
  const auto status = client.get("/v1/jobs/1");

  EXPECT_EQ(submitted.status, 201);
  EXPECT_EQ(submitted.header("Location"), "/v1/jobs/1");
  EXPECT_EQ(status.status, 200);
  EXPECT_THAT(status.body, HasSubstr("\"state\":\"PENDING\""));
  EXPECT_EQ(status.header("Cache-Control"), "no-store");
  EXPECT_EQ(status.header("X-Frame-Options"), "DENY");
  EXPECT_EQ(status.header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(status.header("Content-Security-Policy"), "default-src 'none'; frame-ancestors 'none'");
}

TEST(RestServer, NothingListensPubliclyWithoutTokens) {
  MemoryPlatform platform;

  for (const char* const address : {"0.0.0.0", "::", "192.0.2.1"}) {
    const auto server = RestServer::start(platform, {.http = {.address = address, .port = 0}});
    ASSERT_FALSE(server.ok()) << address;
    EXPECT_EQ(server.error().code, ErrorCode::BadConfig);
    EXPECT_THAT(server.error().message, HasSubstr("a token file is needed"));
  }
}

TEST(RestServer, ListensPubliclyWithTokensUnderAnyNameButOnlyForHolders) {
  MemoryPlatform platform;
  const std::string tokens =
      std::filesystem::temp_directory_path() / fmt::format("rest-tokens-{}", getpid());
  std::ofstream(tokens) << "ann user red " << digest_text(token_digest("secret")) << "\n";
  std::filesystem::permissions(tokens, std::filesystem::perms::owner_read);
  const auto server = rest_served(platform, {.http = {.address = "0.0.0.0"}, .token_file = tokens});
  std::filesystem::remove(tokens);
  RawClient client(server->port());

  EXPECT_EQ(client.get("/v1/nodes").status, 401);
  EXPECT_EQ(client.get("/v1/nodes", "Authorization: Bearer secret\r\n").status, 200);
  client.write(
      "GET /v1/nodes HTTP/1.1\r\nHost: gpu.example\r\nAuthorization: Bearer secret\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 200);
}

TEST(RestServer, ATokenFileThatCannotBeReadStopsTheStart) {
  MemoryPlatform platform;

  EXPECT_FALSE(RestServer::start(platform, {.http = {.port = 0}, .token_file = "absent"}).ok());
}

TEST(RestServer, WorksOverTls) {
  MemoryPlatform platform;
  const TestCertificate certificate;
  const auto server =
      rest_served(platform, {.http = {.certificate_file = certificate.certificate_file(),
                                      .key_file = certificate.key_file()}});
  RawClient client(server->port(), RawClient::Line::Tls);

  EXPECT_EQ(client.get("/v1/nodes", "Origin: https://localhost\r\n").status, 200);
  platform.publish("alarm");
  client.write(std::string(kAskForEvents) + "\r\n");
  EXPECT_EQ(client.read_head().status, 200);
  EXPECT_THAT(client.read_chunks_until("alarm"), HasSubstr("id: 1\nevent: alarm\n"));
  platform.publish("node.down");
  client.read_chunks_until("node.down");
}

TEST(RestServer, EventsComeAsTheyHappenAndGoOnWhereAClientLeft) {
  MemoryPlatform platform;
  const auto server = rest_served(platform);
  platform.publish("job.submitted");
  {
    RawClient client(server->port());
    client.write(std::string(kAskForEvents) + "\r\n");
    EXPECT_EQ(client.read_head().header("Content-Type"), "text/event-stream");
    EXPECT_THAT(client.read_chunks_until("job.submitted\",\"job\""),
                HasSubstr("id: 1\nevent: job.submitted\ndata: {\"sequence\":\"1\""));
    platform.publish("job.started");
    EXPECT_THAT(client.read_chunks_until("\n\n"), HasSubstr("id: 2\nevent: job.started\n"));
  }
  platform.publish("job.resized");

  RawClient again(server->port());
  again.write(std::string(kAskForEvents) + "Last-Event-ID: 2\r\n\r\n");
  again.read_head();

  const std::string missed = again.read_chunks_until("\n\n");
  EXPECT_THAT(missed, HasSubstr("id: 3\nevent: job.resized\n"));
  EXPECT_THAT(missed, Not(HasSubstr("job.started")));
}

TEST(RestServer, ManyEventsAllArriveInOrder) {
  MemoryPlatform platform;
  const auto server = rest_served(platform);
  RawClient client(server->port());
  client.write(std::string(kAskForEvents) + "\r\n");
  client.read_head();
  constexpr int kEvents = 2000;

  std::thread publisher([&platform] {
    for (int i = 0; i < kEvents; ++i) {
      platform.publish("job.started");
    }
  });
  const std::string all = client.read_chunks_until(fmt::format("id: {}\n", kEvents));
  publisher.join();

  std::size_t at = 0;
  for (int i = 1; i <= kEvents; ++i) {
    at = all.find(fmt::format("id: {}\n", i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(RestServer, ABadPlaceToGoOnIsRefused) {
  MemoryPlatform platform;
  const auto server = rest_served(platform);
  RawClient client(server->port());

  client.write(std::string(kAskForEvents) + "Last-Event-ID: x\r\n\r\n");

  EXPECT_EQ(client.read_reply().status, 400);
}

TEST(RestServer, EndedStreamsLetGoOfThePlatform) {
  MemoryPlatform platform;
  const auto server = rest_served(platform);
  auto client = std::make_unique<RawClient>(server->port());
  client->write(std::string(kAskForEvents) + "\r\n");
  client->read_head();
  while (platform.listeners() == 0) {
    std::this_thread::yield();
  }

  client.reset();
  server->stop();

  EXPECT_EQ(platform.listeners(), 0);
}

TEST(RestServer, FollowsALogUntilTheJobIsOver) {
  MemoryPlatform platform;
  const auto server = rest_served(platform);
  RawClient client(server->port());
  client.call("POST", "/v1/jobs", R"({"steps":3})");
  platform.add_log("1", "first\n");

  client.write("GET /v1/jobs/1/logs?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client.read_head();
  EXPECT_EQ(client.read_chunk(), "first\n");
  platform.add_log("1", "second\n");
  EXPECT_EQ(client.read_chunk(), "second\n");
  platform.add_log("1", std::string(200, 'x'));
  platform.finish("1");

  std::string rest;
  while (true) {
    const auto piece = client.read_chunk();
    ASSERT_TRUE(piece.has_value());
    if (piece->empty()) {
      break;
    }
    rest += *piece;
  }
  EXPECT_EQ(rest, std::string(200, 'x'));
  EXPECT_EQ(RawClient(server->port()).get("/v1/jobs/9/logs?follow=1").status, 404);
}

}  // namespace
}  // namespace rubato
