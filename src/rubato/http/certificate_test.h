// A certificate for `localhost` that a test made for itself, in files of a temporary directory.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace rubato {

class TestCertificate {
 public:
  TestCertificate()
      : directory_(std::filesystem::temp_directory_path() /
                   fmt::format("certificate-{}", getpid())) {
    std::filesystem::create_directories(directory_);
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* const name = X509_get_subject_name(certificate);
    const unsigned char host[] = "localhost";
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, host, -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    EXPECT_GT(X509_sign(certificate, key, EVP_sha256()), 0);
    write(certificate_file(), [certificate](FILE* file) { PEM_write_X509(file, certificate); });
    write(key_file(), [key](FILE* file) {
      PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    });
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  ~TestCertificate() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  [[nodiscard]] std::string certificate_file() const { return directory_ / "certificate.pem"; }
  [[nodiscard]] std::string key_file() const { return directory_ / "key.pem"; }

 private:
  template <typename Write>
  static void write(const std::string& path, Write write_to) {
    FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    write_to(file);
    std::fclose(file);
  }

  std::filesystem::path directory_;
};

}  // namespace rubato
