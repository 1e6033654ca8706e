#include "rubato/launch/script/python_command.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

namespace rubato::launch::script {
namespace {

using Kind = PythonCommand::Kind;

TEST(PythonCommand, NamesItsScript) {
  const auto command = python_command({"/usr/bin/python3.11", "-u", "train.py", "-c", "5"});

  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->kind, Kind::Script);
  EXPECT_EQ(command->main, "train.py");
  EXPECT_FALSE(command->is_isolated);
}

TEST(PythonCommand, NamesItsModule) {
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{"python3", "-m", "tools.train", "--epochs", "2"},
        {"python3", "-um", "tools.train"},
        {"python3", "-mtools.train"}}) {
    const auto command = python_command(argv);

    ASSERT_TRUE(command.has_value());
    EXPECT_EQ(command->kind, Kind::Module);
    EXPECT_EQ(command->main, "tools.train");
  }
}

TEST(PythonCommand, HasItsTextAfterC) {
  const auto command = python_command({"python3", "-c", "print(1)"});

  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->kind, Kind::Text);
  EXPECT_EQ(command->main, "print(1)");
}

TEST(PythonCommand, SkipsOptionsWithArguments) {
  EXPECT_EQ(python_command({"python3", "-W", "ignore", "-Xdev", "-X", "utf8", "a.py"})->main,
            "a.py");
}

TEST(PythonCommand, KnowsInterpretersThatLoadNothingOfOurs) {
  EXPECT_TRUE(python_command({"python3", "-I", "a.py"})->is_isolated);
  EXPECT_TRUE(python_command({"python3", "-uE", "a.py"})->is_isolated);
}

TEST(PythonCommand, MayBeAFileThatNamesItsInterpreter) {
  EXPECT_EQ(python_command({"./train.py", "--fast"})->main, "./train.py");
}

TEST(PythonCommand, IsNoOtherProgram) {
  EXPECT_FALSE(python_command({}).has_value());
  EXPECT_FALSE(python_command({"python3"}).has_value());
  EXPECT_FALSE(python_command({"python3", "-"}).has_value());
  EXPECT_FALSE(python_command({"python3", "--version"}).has_value());
  EXPECT_FALSE(python_command({"pythonic", "a.py"}).has_value());
  EXPECT_FALSE(python_command({"bash", "run.sh"}).has_value());
}

TEST(UsesTrainer, ByAnyNameThatPythonHasForIt) {
  EXPECT_TRUE(uses_trainer("import rubato\ntrainer = rubato.Trainer(model)\n"));
  EXPECT_TRUE(uses_trainer("from rubato import Refused, Trainer\n"));
  EXPECT_TRUE(uses_trainer("from rubato import (\n    Refused,\n    Trainer,\n)\n"));
  EXPECT_TRUE(uses_trainer("import rubato as r\nr.Trainer(model)\n"));
  EXPECT_TRUE(uses_trainer("from rubato.trainer import Trainer\n"));
}

TEST(UsesTrainer, NotByWhatOnlyLooksLikeIt) {
  EXPECT_FALSE(uses_trainer("import rubato\nrubato.log(loss=1)\n"));
  EXPECT_FALSE(uses_trainer("# rubato.Trainer would do\n"));
  EXPECT_FALSE(uses_trainer("\"\"\"Like rubato.Trainer.\"\"\"\nprint('rubato.Trainer')\n"));
  EXPECT_FALSE(uses_trainer("from lightning import Trainer\n"));
  EXPECT_FALSE(uses_trainer("from rubato import log\nfrom mine import Trainer\n"));
  EXPECT_FALSE(uses_trainer("import rubato.Trainers_of_mine\n"));
}

/// Programs in a folder.
class RunsAsScriptTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-python-command-" + std::to_string(::getpid()));
    write("plain.py", "import torch\n");
    write("sdk.py", "import rubato\nrubato.Trainer(1)\n");
    write("tools/__main__.py", "from rubato import Trainer\n");
    write("tools/plain.py", "import torch\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  [[nodiscard]] bool runs(const std::vector<std::string>& argv,
                          const Environment& environment = {}) const {
    return runs_as_script(argv, folder_, environment);
  }

  std::filesystem::path folder_;
};

TEST_F(RunsAsScriptTest, IfItsMainFileDoesNotUseTheTrainer) {
  EXPECT_TRUE(runs({"python3", "plain.py"}));
  EXPECT_FALSE(runs({"python3", "sdk.py"}));
  EXPECT_TRUE(runs({"python3", (folder_ / "plain.py").string()}));
  EXPECT_FALSE(runs({"python3", (folder_ / "sdk.py").string()}));
}

TEST_F(RunsAsScriptTest, IfItsModuleDoesNotUseTheTrainer) {
  EXPECT_TRUE(runs({"python3", "-m", "plain"}));
  EXPECT_FALSE(runs({"python3", "-m", "sdk"}));
  EXPECT_FALSE(runs({"python3", "-m", "tools"}));
  EXPECT_TRUE(runs({"python3", "-m", "tools.plain"}));
}

TEST_F(RunsAsScriptTest, WithAModuleFoundInPythonPath) {
  const Environment environment{{"PYTHONPATH", "/nowhere:" + folder_.string()}};

  EXPECT_FALSE(runs_as_script({"python3", "-m", "sdk"}, "/", environment));
}

TEST_F(RunsAsScriptTest, WithTextThatDoesNotUseTheTrainer) {
  EXPECT_TRUE(runs({"python3", "-c", "import torch"}));
  EXPECT_FALSE(runs({"python3", "-c", "import rubato; rubato.Trainer(1)"}));
}

TEST_F(RunsAsScriptTest, IfItsMainFileIsNotThere) { EXPECT_TRUE(runs({"python3", "none.py"})); }

TEST_F(RunsAsScriptTest, UnlessItIsAnotherProgram) {
  EXPECT_FALSE(runs({"./counting_trainer", "plain.py"}));
}

}  // namespace
}  // namespace rubato::launch::script
