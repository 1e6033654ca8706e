#include "rubato/live/rest/token_table.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/stat.h>
#include <utility>

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "rubato/base/utf8.h"

namespace rubato {
namespace {

// Nothing if the text is not 64 hexadecimal digits.
std::optional<TokenDigest> parse_digest(std::string_view text) {
  TokenDigest digest{};
  if (text.size() != 2 * digest.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char digit = text[i];
    const bool is_decimal = digit >= '0' && digit <= '9';
    const bool is_letter = (digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F');
    if (!is_decimal && !is_letter) {
      return std::nullopt;
    }
    const int value = is_decimal ? digit - '0' : (digit | 0x20) - 'a' + 10;
    digest[i / 2] = static_cast<std::uint8_t>(digest[i / 2] * 16 + value);
  }
  return digest;
}

}  // namespace

TokenDigest token_digest(std::string_view token) {
  TokenDigest digest{};
  const std::vector<unsigned char> bytes(token.begin(), token.end());
  SHA256(bytes.data(), bytes.size(), digest.data());
  return digest;
}

std::string digest_text(const TokenDigest& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

Result<TokenTable> TokenTable::parse(std::string_view text, const std::string& name) {
  TokenTable table;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string content = line.substr(0, line.find('#'));
    std::istringstream words(content);
    const std::vector<std::string> found(std::istream_iterator<std::string>(words), {});
    if (found.empty()) {
      continue;
    }
    const auto where = fmt::format("{}:{}: ", name, number);
    if (found.size() != 4 || !is_plain_text(content)) {
      return bad_input(where + "expected `name role tenant sha256`");
    }
    const auto role = parse_role(found[1]);
    if (!role) {
      return bad_input(where + "role: expected viewer, user or admin, found '" + found[1] + "'");
    }
    const auto digest = parse_digest(found[3]);
    if (!digest) {
      return bad_input(where + "sha256: expected 64 hexadecimal digits");
    }
    table.entries_.push_back(
        {.caller = {.user = found[0], .tenant = found[2] == "-" ? "" : found[2], .role = *role},
         .digest = *digest});
  }
  if (table.entries_.empty()) {
    return bad_input(name + ": expected at least one token");
  }
  return table;
}

Result<TokenTable> TokenTable::read(const std::string& path) {
  struct stat facts {};
  std::ifstream file(path);
  if (!file || stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return Error{.code = ErrorCode::Io, .message = path + ": cannot be read"};
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{.code = ErrorCode::BadConfig,
                 .message = path + ": others than its owner may write it; use chmod go-w"};
  }
  return parse(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

std::optional<Caller> TokenTable::caller_of(std::string_view token) const {
  const TokenDigest digest = token_digest(token);
  const Entry* holder = nullptr;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) {
      holder = &entry;
    }
  }
  return holder == nullptr ? std::nullopt : std::optional(holder->caller);
}

}  // namespace rubato
