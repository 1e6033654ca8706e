#include "rubato/cli/train/train_script.h"

#include <filesystem>
#include <sys/eventfd.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "rubato/launch/conductor.h"

namespace rubato {
namespace {

using testing::ElementsAre;

/// Remembers how many workers it was asked for; none of them lives.
class CountingLauncher final : public Launcher {
 public:
  [[nodiscard]] int descriptor() const override { return news_.get(); }
  [[nodiscard]] Status start(const WorkerStart& /*start*/) override {
    ++started;
    return ok_status();
  }
  [[nodiscard]] Status signal(WorkerId /*worker*/, int number) override {
    signals.push_back(number);
    return ok_status();
  }
  [[nodiscard]] std::vector<WorkerEnd> ended() override { return {}; }

  int started = 0;
  std::vector<int> signals{};

 private:
  Descriptor news_{::eventfd(0, EFD_CLOEXEC)};
};

class TrainScriptTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::to_string(::getpid()) + "-" + info->name());
    std::filesystem::create_directories(folder_);
    conductor_ = std::move(*Conductor::open({.directory = folder_, .workers = 1}, launcher_, {}));
  }
  void TearDown() override {
    conductor_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::filesystem::path folder_;
  CountingLauncher launcher_;
  std::unique_ptr<Conductor> conductor_;
};

TEST_F(TrainScriptTest, NamesAllStepsAtWhichSomethingHappens) {
  const auto script = TrainScript::parse({.resize = "at step 100: 4; at step 50: 2",
                                          .kill = "worker 1 at step 70",
                                          .stop = "worker 0 at step 50"});

  ASSERT_TRUE(script.ok());
  EXPECT_THAT(script->steps(), ElementsAre(50, 70, 100));
}

TEST_F(TrainScriptTest, NamesTheFlagOfABadText) {
  EXPECT_THAT(TrainScript::parse({.resize = "4"}).error().message, testing::HasSubstr("--resize"));
  EXPECT_THAT(TrainScript::parse({.kill = "4"}).error().message, testing::HasSubstr("--kill"));
  EXPECT_THAT(TrainScript::parse({.stop = "4"}).error().message, testing::HasSubstr("--stop"));
}

TEST_F(TrainScriptTest, DoesWhatIsDueOnce) {
  auto script = TrainScript::parse({.resize = "at step 10: 3; at step 20: 5"});
  ASSERT_TRUE(script.ok());

  script->on_step(9, *conductor_);
  EXPECT_EQ(launcher_.started, 1);
  script->on_step(12, *conductor_);
  EXPECT_EQ(launcher_.started, 3);
  script->on_step(12, *conductor_);
  EXPECT_EQ(launcher_.started, 3);
  script->on_step(30, *conductor_);
  EXPECT_EQ(launcher_.started, 5);
}

TEST_F(TrainScriptTest, DisturbsNobodyWhereNobodyHasThatRank) {
  auto script = TrainScript::parse({.kill = "worker 0 at step 10", .stop = "worker 1 at step 10"});
  ASSERT_TRUE(script.ok());

  script->on_step(10, *conductor_);

  EXPECT_TRUE(launcher_.signals.empty()) << "there is no generation yet";
}

}  // namespace
}  // namespace rubato
