// Bearer tokens and who holds them. The file has one token per line:
//
//   name role tenant sha256
//
// role: viewer, user or admin; tenant: `-` for all; sha256: of the token, 64 hexadecimal digits, as
// `printf %s "$TOKEN" | sha256sum` prints it. `#` begins a comment. The tokens themselves are kept
// by their holders only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/live/service/caller.h"

namespace rubato {

using TokenDigest = std::array<std::uint8_t, 32>;

[[nodiscard]] TokenDigest token_digest(std::string_view token);
/// 64 hexadecimal digits, as the file has them.
[[nodiscard]] std::string digest_text(const TokenDigest& digest);

class TokenTable {
 public:
  /// `name` is the file's, for errors. A text without any token is one.
  [[nodiscard]] static Result<TokenTable> parse(std::string_view text, const std::string& name);
  /// Also refuses a file that others than its owner may write.
  [[nodiscard]] static Result<TokenTable> read(const std::string& path);

  /// Takes as long for a wrong token as for a right one.
  [[nodiscard]] std::optional<Caller> caller_of(std::string_view token) const;

 private:
  struct Entry {
    Caller caller{};
    TokenDigest digest{};
  };
  std::vector<Entry> entries_{};
};

}  // namespace rubato
