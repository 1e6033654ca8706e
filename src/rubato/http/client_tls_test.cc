// The client against a TLS server whose certificate is made on the spot.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "rubato/http/client.h"

namespace rubato {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;

struct Identity {
  std::string certificate{};  // PEM, signed by itself.
  std::string key{};
};

template <typename Write>
std::string pem_of(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), &BIO_free);
  write(memory.get());
  std::string text(static_cast<std::size_t>(BIO_pending(memory.get())), '\0');
  BIO_read(memory.get(), text.data(), static_cast<int>(text.size()));
  return text;
}

Identity identity_of(const std::string& names) {
  constexpr long kDay = 86'400;
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), &EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), &X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), kDay);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* name = X509_get_subject_name(made.get());
  const unsigned char common[] = "rubato test";
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common, -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  for (const auto& [id, value] : {std::pair{NID_subject_alt_name, names},
                                  std::pair{NID_basic_constraints, std::string("CA:TRUE")}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
    X509_add_ext(made.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(made.get(), key.get(), EVP_sha256());
  return {.certificate = pem_of([&](BIO* out) { PEM_write_bio_X509(out, made.get()); }),
          .key = pem_of([&](BIO* out) {
            PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

/// Answers one request on each connection.
class TinyTlsWeb {
 public:
  explicit TinyTlsWeb(const Identity& identity) {
    context_.use_certificate_chain(asio::buffer(identity.certificate));
    context_.use_private_key(asio::buffer(identity.key), ssl::context::pem);
    thread_ = std::thread([this] { serve(); });
  }
  ~TinyTlsWeb() {
    is_ending_ = true;
    boost::system::error_code ignored;
    asio::ip::tcp::socket waker(loop_);
    waker.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  TinyTlsWeb(const TinyTlsWeb&) = delete;
  TinyTlsWeb& operator=(const TinyTlsWeb&) = delete;

  [[nodiscard]] std::string url() const {
    return fmt::format("https://127.0.0.1:{}", acceptor_.local_endpoint().port());
  }

 private:
  void serve() {
    for (;;) {
      boost::system::error_code failure;
      ssl::stream<asio::ip::tcp::socket> stream(loop_, context_);
      acceptor_.accept(stream.next_layer(), failure);
      if (is_ending_) {
        return;
      }
      stream.handshake(ssl::stream_base::server, failure);
      std::string request;
      asio::read_until(stream, asio::dynamic_buffer(request), "\r\n\r\n", failure);
      if (!failure) {
        asio::write(stream,
                    asio::buffer(std::string("HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n{}")),
                    failure);
      }
    }
  }

  std::atomic<bool> is_ending_ = false;
  asio::io_context loop_{};
  ssl::context context_{ssl::context::tls_server};
  asio::ip::tcp::acceptor acceptor_{loop_,
                                    asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::thread thread_{};
};

class TlsClient : public testing::Test {
 protected:
  ~TlsClient() override { std::filesystem::remove(file_); }

  Result<WebReply> asked(const TinyTlsWeb& server, const Identity* trusted) {
    WebOptions options{.server = parse_web_address(server.url()).value()};
    if (trusted != nullptr) {
      std::ofstream(file_) << trusted->certificate;
      options.ca_file = file_;
    }
    return WebClient(options).send({.target = "/v1/version"});
  }

  std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / fmt::format("rubato-ca-{}", ::getpid());
};

TEST_F(TlsClient, TrustsTheCertificateItIsGiven) {
  const Identity ours = identity_of("IP:127.0.0.1");
  const TinyTlsWeb server(ours);

  const auto reply = asked(server, &ours);

  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "{}");
}

TEST_F(TlsClient, TrustsNoOther) {
  const Identity ours = identity_of("IP:127.0.0.1");
  const Identity other = identity_of("IP:127.0.0.1");
  const TinyTlsWeb server(ours);

  EXPECT_FALSE(asked(server, nullptr));
  EXPECT_FALSE(asked(server, &other));
}

TEST_F(TlsClient, TrustsNoOtherName) {
  const Identity ours = identity_of("DNS:rubato.example");
  const TinyTlsWeb server(ours);

  const auto reply = asked(server, &ours);

  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().message.find("cannot trust https://127.0.0.1"), std::string::npos)
      << reply.error().message;
}

TEST_F(TlsClient, SaysWhichFileIsNoCertificate) {
  const Identity ours = identity_of("IP:127.0.0.1");
  const Identity nonsense{.certificate = "hello"};
  const TinyTlsWeb server(ours);

  const auto reply = asked(server, &nonsense);

  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().message.find(file_.string()), std::string::npos) << reply.error().message;
}

}  // namespace
}  // namespace rubato
