#include "rubato/launch/process/program_path.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

namespace rubato {
namespace {

class ProgramPath : public testing::Test {
 protected:
  ProgramPath() {
    std::filesystem::create_directories(root_ / "first");
    std::filesystem::create_directories(root_ / "second");
  }
  ~ProgramPath() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, bool is_executable) {
    std::ofstream(root_ / path) << "#!/bin/sh\n";
    std::filesystem::permissions(root_ / path, is_executable ? std::filesystem::perms::owner_all
                                                             : std::filesystem::perms::owner_read);
  }
  [[nodiscard]] std::string at(const std::string& path) const { return (root_ / path).string(); }

  std::filesystem::path root_ =
      std::filesystem::absolute("build") / ("program_path_test." + std::to_string(::getpid()));
};

TEST_F(ProgramPath, TakesTheFirstThatCanBeRun) {
  write("first/tool", /*is_executable=*/false);
  write("second/tool", /*is_executable=*/true);
  const Environment environment{{"PATH", at("none") + ":" + at("first") + ":" + at("second")}};

  EXPECT_EQ(program_path("tool", environment, "/").value(), at("second/tool"));
}

TEST_F(ProgramPath, ReadsRelativePathsFromTheDirectoryOfTheCommand) {
  write("first/tool", /*is_executable=*/true);

  EXPECT_EQ(program_path("./first/tool", {}, at("")).value(), at("") + "/./first/tool");
  EXPECT_EQ(program_path("tool", {{"PATH", "first"}}, at("")).value(), at("") + "/first/tool");
  EXPECT_EQ(program_path("tool", {{"PATH", "/nowhere:"}}, at("first")).value(), at("first/tool"));
}

TEST_F(ProgramPath, SaysWhereItLooked) {
  const auto missing = program_path("tool", {{"PATH", at("first")}}, "/");

  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_NE(missing.error().message.find(at("first")), std::string::npos);
  EXPECT_FALSE(program_path("", {{"PATH", at("first")}}, "/").ok());
  EXPECT_FALSE(program_path(at("first"), {}, "/").ok()) << "a folder is no program";
}

TEST_F(ProgramPath, SearchesTheUsualPlacesWithoutAPath) {
  EXPECT_TRUE(program_path("sh", {}, "/").ok());
}

TEST_F(ProgramPath, TellsProgramsFromScripts) {
  write("first/tool", /*is_executable=*/true);

  EXPECT_FALSE(is_native_program(at("first/tool")));
  EXPECT_FALSE(is_native_program(at("first/none")));
  EXPECT_TRUE(is_native_program(program_path("sh", {}, "/").value()));
}

}  // namespace
}  // namespace rubato
