#include "rubato/cli/policy/policy_markdown.h"

#include <array>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "rubato/policy/registry.h"

namespace rubato {
namespace {

std::string text_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PolicyMarkdown, IsWhatTheDocumentsSay) {
  EXPECT_EQ(policy_markdown(all_policies()), text_of("docs/policies.md")) << "run `make docs`";
}

TEST(PolicyMarkdown, HasOneRowForEachPolicyAndNoTextBreaksOut) {
  const std::array policies = {PolicyInfo{.name = "a",
                                          .paper = "p",
                                          .fidelity = "after <p>",
                                          .objective = "o",
                                          .needs = "n",
                                          .use_when = "u",
                                          .options = "x=1|2"}};

  const std::string page = policy_markdown(policies);

  EXPECT_NE(page.find("\n| `a` | o | n | u | x=1\\|2 | p | after \\<p> |\n"), std::string::npos)
      << page;
}

TEST(PolicyMarkdown, EveryPolicySaysWhenToUseIt) {
  for (const PolicyInfo& info : all_policies()) {
    EXPECT_FALSE(info.use_when.empty()) << info.name;
  }
}

}  // namespace
}  // namespace rubato
