#include "rubato/cli/shell/shell_verbs.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "rubato/cli/program.h"
#include "rubato/cli/shell/completion.h"
#include "rubato/cli/shell/man_page.h"
#include "rubato/cli/shell/verb_tree.h"

namespace rubato {
namespace {

// A program of two verbs.
std::vector<VerbPage> small_program() {
  CLI::App app("A program", "rubato");
  CLI::App* status = app.add_subcommand("status", "Show how a job stands");
  static std::string job;
  static bool is_quiet = false;
  status->add_option("job", job, "The job's id")->required();
  status->add_flag("-q,--quiet", is_quiet, "Don't say much");
  app.add_subcommand("policy", "Schedulers")->add_subcommand("list", "List them");
  return verb_pages(app);
}

std::string written_by(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    text.append(buffer.data(), got);
  }
  pclose(pipe);
  return text;
}

TEST(VerbTree, HasEveryVerbAndFlag) {
  const auto pages = small_program();

  ASSERT_EQ(pages.size(), 4U);
  EXPECT_EQ(pages[1].path, "rubato status");
  EXPECT_TRUE(pages[1].takes_job());
  EXPECT_EQ(pages[3].path, "rubato policy list");
  EXPECT_FALSE(pages[3].takes_job());
}

TEST(Completion, BashOffersVerbsFlagsAndJobs) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("rubato-completion-" + std::to_string(::getpid()));
  std::ofstream(file) << completion_script("bash", small_program()).value();
  const auto completed = [&](const std::string& words, int at) {
    return written_by("bash -c 'rubato() { echo 41 42; }; . " + file.string() + "; COMP_WORDS=(" +
                      words + "); COMP_CWORD=" + std::to_string(at) +
                      "; _rubato; echo ${COMPREPLY[@]}'");
  };

  EXPECT_EQ(completed("rubato st", 1), "status\n");
  EXPECT_EQ(completed("rubato policy li", 2), "list\n");
  EXPECT_EQ(completed("rubato status 4", 2), "41 42\n");
  EXPECT_EQ(completed("rubato status --qu", 2), "--quiet\n");
  EXPECT_EQ(completed("rubato status -- --qu", 3), "\n");
  std::filesystem::remove(file);
}

TEST(Completion, ZshAndFishNameEveryVerb) {
  for (const char* shell : {"zsh", "fish"}) {
    const auto script = completion_script(shell, small_program());
    ASSERT_TRUE(script);
    for (const char* part : {"rubato status", "rubato policy list", "quiet"}) {
      EXPECT_NE(script->find(part), std::string::npos) << shell << ": " << part;
    }
  }
  EXPECT_FALSE(completion_script("bsh", small_program()));
}

TEST(ManPages, EachVerbHasOne) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("rubato-man-" + std::to_string(::getpid()));

  ASSERT_EQ(run_program({"rubato", "man", folder.string()}), 0);

  testing::internal::CaptureStdout();
  ASSERT_EQ(run_program({"rubato", "completion", "bash"}), 0);
  const std::string script = testing::internal::GetCapturedStdout();
  for (const char* verb :
       {"run",    "submit", "quote", "status",     "list",   "why",     "blame",   "logs",
        "cancel", "scale",  "queue", "node",       "report", "policy",  "what-if", "sim",
        "trace",  "train",  "demo",  "completion", "man",    "version", "doctor",  "check"}) {
    const auto file = folder / ("rubato-" + std::string(verb) + ".1");
    ASSERT_TRUE(std::filesystem::exists(file)) << verb;
    EXPECT_NE(script.find("\"rubato " + std::string(verb) + "\""), std::string::npos) << verb;
    std::ifstream page(file);
    std::string line;
    ASSERT_TRUE(std::getline(page, line));
    EXPECT_EQ(line.substr(0, 4), ".TH ");
    while (std::getline(page, line)) {
      const bool is_request = line.starts_with('.');
      const std::string request = line.substr(0, line.find(' '));
      EXPECT_TRUE(!is_request || request == ".SH" || request == ".TP" || request == ".B" ||
                  request == ".I" || request == ".PP" || request == ".BR")
          << file << ": " << line;
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rubato
