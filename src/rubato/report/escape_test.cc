#include "rubato/report/escape.h"

#include <rapidcheck.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rubato {
namespace {

TEST(Escape, HtmlTextCannotOpenATagOrCloseAQuote) {
  EXPECT_EQ(html_escaped("<a href=\"x\" b='y'>&</a>"),
            "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;&lt;/a&gt;");
}

TEST(Escape, JsonInAScriptMeansTheSameAndCannotEndIt) {
  EXPECT_TRUE(rc::check([](const std::string& noise) {
    const std::string name = noise + "</script><!--&" + noise;
    const std::string quoted = json_quoted(name);

    const std::string safe = script_safe(quoted);

    RC_ASSERT(safe.find_first_of("<>&") == std::string::npos);
    RC_ASSERT(nlohmann::json::parse(safe) == nlohmann::json::parse(quoted));
  }));
}

TEST(Escape, BytesThatAreNotUtf8BecomeReplacements) {
  EXPECT_EQ(json_quoted("a\xff"), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(json_quoted("a\"\\\n"), R"("a\"\\\n")");
}

TEST(Escape, ShorteningCutsBetweenCharacters) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("longer", 5), "lo…");
  EXPECT_EQ(shortened("äöü", 5), "ä…");
  EXPECT_EQ(shortened("äöüß", 6), "ä…");
}

}  // namespace
}  // namespace rubato
