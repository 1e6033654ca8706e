#include "rubato/base/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Utf8, TakesCharactersOfAllLengths) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndCutCharacters) {
  for (const char* const bad : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf",
                                "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "\xc3", "\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

TEST(Utf8, PlainTextHasNoControlCharacters) {
  EXPECT_TRUE(is_plain_text("job \xc3\xa9"));
  EXPECT_FALSE(is_plain_text("a\nb"));
  EXPECT_FALSE(is_plain_text(std::string("a\0b", 3)));
  EXPECT_FALSE(is_plain_text("a\x7f"));
}

TEST(Utf8, RepairsOnlyTheBadBytes) {
  EXPECT_EQ(repaired_utf8("a\xff\xc3\xa9\xc3"), "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
  EXPECT_EQ(repaired_utf8("as it was"), "as it was");
}

}  // namespace
}  // namespace rubato
