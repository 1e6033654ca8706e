#include "rubato/live/rest/token_table.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

using testing::HasSubstr;

std::string token_line(const std::string& name_role_tenant, const std::string& token) {
  return name_role_tenant + " " + digest_text(token_digest(token)) + "\n";
}

TEST(TokenTable, TheDigestIsThatOfSha256sum) {
  EXPECT_EQ(digest_text(token_digest("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(TokenTable, FindsTheHolderOfAToken) {
  const auto table = TokenTable::parse("# who may what\n\n" + token_line("ann user red", "first") +
                                           token_line("bob admin -", "second"),
                                       "tokens");

  ASSERT_TRUE(table.ok());
  const auto ann = table->caller_of("first");
  ASSERT_TRUE(ann.has_value());
  EXPECT_EQ(ann->user, "ann");
  EXPECT_EQ(ann->tenant, "red");
  EXPECT_EQ(ann->role, Role::User);
  EXPECT_EQ(table->caller_of("second")->tenant, "");
  EXPECT_EQ(table->caller_of("second")->role, Role::Admin);
}

TEST(TokenTable, OtherTokensHaveNoHolder) {
  const std::string text = token_line("ann user red", "first");
  const auto table = TokenTable::parse(text, "tokens");

  EXPECT_FALSE(table->caller_of("").has_value());
  EXPECT_FALSE(table->caller_of("firs").has_value());
  EXPECT_FALSE(table->caller_of("first ").has_value());
  EXPECT_FALSE(table->caller_of(digest_text(token_digest("first"))).has_value());
}

TEST(TokenTable, ABadLineIsNamed) {
  const std::string good = digest_text(token_digest("x"));
  const auto message = [](const std::string& text) {
    const auto table = TokenTable::parse(text, "tokens");
    return table ? std::string("fine") : table.error().message;
  };
  EXPECT_THAT(message("\nann user red\n"), HasSubstr("tokens:2: expected `name role"));
  EXPECT_THAT(message("ann root red " + good), HasSubstr("tokens:1: role: expected viewer"));
  EXPECT_THAT(message("ann user red " + good.substr(1)), HasSubstr("64 hexadecimal"));
  EXPECT_THAT(message("ann user red g" + good.substr(1)), HasSubstr("64 hexadecimal"));
  EXPECT_THAT(message("a\xff user red " + good), HasSubstr("tokens:1: "));
  EXPECT_THAT(message("# nobody\n"), HasSubstr("at least one token"));
}

TEST(TokenTable, AFileThatOthersMayWriteIsRefused) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("tokens-{}", getpid());
  std::ofstream(path) << token_line("ann user red", "first");
  using std::filesystem::perms;

  std::filesystem::permissions(path, perms::owner_read | perms::owner_write | perms::group_read);
  EXPECT_TRUE(TokenTable::read(path).ok());
  std::filesystem::permissions(path, perms::owner_read | perms::group_write);
  EXPECT_FALSE(TokenTable::read(path).ok());

  std::filesystem::remove(path);
  EXPECT_FALSE(TokenTable::read(path).ok());
  EXPECT_FALSE(TokenTable::read("/").ok());
}

}  // namespace
}  // namespace rubato
