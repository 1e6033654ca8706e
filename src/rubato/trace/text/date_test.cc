#include "rubato/trace/text/date.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Date, CountsSecondsSince1970) {
  EXPECT_EQ(parse_date("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(parse_date("2017-10-07 01:11:39"), 1507338699);
  EXPECT_EQ(parse_date("2020-02-29T23:59:59"), 1583020799);
}

TEST(Date, RefusesWhatIsNoDate) {
  for (const char* text :
       {"", "None", "2017-10-07", "2017-10-07 1:11:39", "2017-13-07 01:11:39",
        "2019-02-29 00:00:00", "2017-10-07 24:00:00", "2017-10-07 01:60:00", "1969-12-31 00:00:00",
        "2097-01-01 00:00:00", "2017-10-07x01:11:39", "+017-10-07 01:11:39"}) {
    EXPECT_FALSE(parse_date(text)) << text;
  }
}

}  // namespace
}  // namespace rubato
