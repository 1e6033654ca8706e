#include "rubato/cli/policy/policy_new.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/cli/policy/policy_template.h"

namespace rubato {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kList =
    "// Every policy.\nRUBATO_POLICY(edf, edf)\nRUBATO_POLICY(gavel, gavel_las)\n";

std::string text_at(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A folder with a list of policies, gone after the test.
class PolicyNew : public testing::Test {
 protected:
  PolicyNew() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::string(test->name()) + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    write("registered.inc", kList);
  }
  ~PolicyNew() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::ranges::count_if(
        std::filesystem::recursive_directory_iterator(folder_),
        [](const std::filesystem::directory_entry& entry) { return entry.is_regular_file(); });
  }
  [[nodiscard]] Result<std::vector<std::string>> make(const std::string& name) const {
    return write_new_policy({.name = name, .dir = folder_.string()});
  }

  std::filesystem::path folder_;
};

TEST_F(PolicyNew, WritesThreeFilesAndOneLine) {
  const auto written = make("elastic-2-fair");

  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(written->size(), 4U);
  EXPECT_EQ(files(), 4);
  EXPECT_EQ(text_at(folder_ / "registered.inc"),
            "// Every policy.\nRUBATO_POLICY(edf, edf)\n"
            "RUBATO_POLICY(elastic_2_fair, elastic_2_fair)\nRUBATO_POLICY(gavel, gavel_las)\n");
  const std::filesystem::path room = folder_ / "elastic_2_fair";
  EXPECT_THAT(text_at(room / "elastic_2_fair.h"), HasSubstr("elastic_2_fair_policy();"));
  EXPECT_THAT(text_at(room / "elastic_2_fair.cc"), HasSubstr("class Elastic2FairPolicy"));
  EXPECT_THAT(text_at(room / "elastic_2_fair_test.cc"), HasSubstr("\"elastic-2-fair\""));
}

TEST_F(PolicyNew, UnderTheNameOfTheTemplateIsTheTemplate) {
  const std::filesystem::path real = "templates/rubato/policy";

  for (const TemplateFile& file : policy_files(*parse_policy_name("first-come"))) {
    EXPECT_EQ(file.text, text_at(real / file.name)) << file.name;
  }
}

TEST_F(PolicyNew, LeavesNothingOfTheTemplatesNameAndNoLongLine) {
  const std::string longest(21, 'x');

  for (const TemplateFile& file : policy_files(*parse_policy_name(longest))) {
    EXPECT_THAT(file.text, Not(HasSubstr("first_come")));
    EXPECT_THAT(file.text, Not(HasSubstr("first-come")));
    EXPECT_THAT(file.text, Not(HasSubstr("FirstCome")));
    for (std::size_t at = 0; at < file.text.size();) {
      const std::size_t end = file.text.find('\n', at);
      EXPECT_LE(end - at, 100U) << file.text.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST_F(PolicyNew, RefusesBadNames) {
  for (const char* name :
       {"", "9lives", "Upper", "under_score", "-a", "a-", "a--b", "a b", "../a", "first-test",
        "main", "double", "std", "a234567890123456789012345678901234"}) {
    const auto written = make(name);

    ASSERT_FALSE(written.ok()) << name;
    EXPECT_EQ(written.error().code, ErrorCode::BadInput);
    EXPECT_THAT(written.error().message, HasSubstr("cannot be the name of a policy"));
    EXPECT_EQ(files(), 1);
  }
}

TEST_F(PolicyNew, RefusesWhatExistsAndChangesNothing) {
  std::filesystem::create_directory(folder_ / "mine");
  write("mine/other.h", "kept");
  write("registered.inc", std::string(kList) + "RUBATO_POLICY(listed, listed)\n");

  EXPECT_THAT(make("mine").error().message, HasSubstr("mine: exists already"));
  EXPECT_THAT(make("srtf").error().message, HasSubstr("policy 'srtf' exists already"));
  EXPECT_THAT(make("listed").error().message, HasSubstr("has a line for 'listed' already"));
  EXPECT_EQ(text_at(folder_ / "mine/other.h"), "kept");
  EXPECT_EQ(files(), 2);
}

TEST_F(PolicyNew, RefusesAFolderWithoutAList) {
  std::filesystem::remove(folder_ / "registered.inc");

  EXPECT_THAT(make("mine").error().message, HasSubstr("registered.inc: cannot be read"));
  EXPECT_EQ(files(), 0);
}

TEST(PolicyDocument, ShowsAPolicyInSixtyLinesThatIsCompiledAndTested) {
  const std::string example = text_at("templates/rubato/policy/smallest_first/smallest_first.cc");

  EXPECT_LE(std::ranges::count(example, '\n'), 60);
  EXPECT_THAT(text_at("docs/new-policy.md"), HasSubstr("```cpp\n" + example + "```\n"));
}

TEST(PolicyLine, StandsWhereTheAlphabetWantsIt) {
  const auto line_for = [](std::string_view list, std::string_view name) {
    return with_policy_line(list, *parse_policy_name(name));
  };

  EXPECT_EQ(line_for("", "a"), "RUBATO_POLICY(a, a)\n");
  EXPECT_EQ(line_for("// List.\n", "a"), "// List.\nRUBATO_POLICY(a, a)\n");
  EXPECT_EQ(line_for("RUBATO_POLICY(b, b)", "c"), "RUBATO_POLICY(b, b)\nRUBATO_POLICY(c, c)\n");
  EXPECT_EQ(line_for("RUBATO_POLICY(edf_ac, edf_ac)\n", "edf"),
            "RUBATO_POLICY(edf, edf)\nRUBATO_POLICY(edf_ac, edf_ac)\n");
}

}  // namespace
}  // namespace rubato
