#include <future>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/http/byte_client_test.h"
#include "rubato/http/certificate_test.h"
#include "rubato/http/server.h"

namespace rubato {
namespace {

using testing::HasSubstr;

HttpOptions tls_options(const TestCertificate& certificate) {
  return {.port = 0,
          .certificate_file = certificate.certificate_file(),
          .key_file = certificate.key_file()};
}

std::unique_ptr<HttpServer> tls_served(const TestCertificate& certificate) {
  auto server = HttpServer::start(tls_options(certificate), [](const HttpRequest& request) {
    HttpReply reply;
    reply.body = (request.is_tls ? "tls " : "plain ") + request.body;
    return reply;
  });
  EXPECT_TRUE(server.ok()) << (server ? "" : server.error().message);
  return std::move(*server);
}

TEST(HttpTls, AnswersRequestsAndKeepsTheConnection) {
  const TestCertificate certificate;
  const auto server = tls_served(certificate);
  RawClient client(server->port(), RawClient::Line::Tls);
  ASSERT_TRUE(client.is_connected());

  EXPECT_EQ(client.get("/").body, "tls ");
  EXPECT_EQ(client.call("POST", "/", std::string(100000, 'x')).body,
            "tls " + std::string(100000, 'x'));
  EXPECT_EQ(client.get("/", "Connection: close\r\n").body, "tls ");
  EXPECT_TRUE(client.ends());
}

TEST(HttpTls, APlainRequestGetsNoAnswer) {
  const TestCertificate certificate;
  const auto server = tls_served(certificate);
  RawClient client(server->port());

  client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");

  EXPECT_EQ(client.read_reply().status, 0);
}

TEST(HttpTls, StoppingEndsConnections) {
  const TestCertificate certificate;
  const auto server = tls_served(certificate);
  RawClient client(server->port(), RawClient::Line::Tls);
  client.get("/");

  server->stop();

  EXPECT_TRUE(client.ends());
}

TEST(HttpTls, AKeyOfAnotherCertificateIsRefused) {
  const TestCertificate certificate;
  auto options = tls_options(certificate);
  options.key_file = options.certificate_file;

  const auto server = HttpServer::start(options, [](const HttpRequest&) { return HttpReply{}; });

  ASSERT_FALSE(server.ok());
  EXPECT_THAT(server.error().message, HasSubstr("no private key"));
}

}  // namespace
}  // namespace rubato
