// The whole platform on a disk that becomes full, and has room again.
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <future>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform_scene_test.h"

namespace rubato {
namespace {

using testing::HasSubstr;

/// The state lies on a small file system that a process of the test's own keeps.
class FullDiskScene : public PlatformScene {
 protected:
  void SetUp() override {
    make_folders();
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
    keeper_ = ::fork();
    ASSERT_GE(keeper_, 0);
    if (keeper_ == 0) {
      const char is_mounted = has_small_disk() ? 'y' : 'n';
      (void)!::write(ready[1], &is_mounted, 1);
      ::pause();
      ::_exit(0);
    }
    char is_mounted = 'n';
    ASSERT_EQ(::read(ready[0], &is_mounted, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    if (is_mounted != 'y') {
      GTEST_SKIP() << "mounting a small file system is not permitted here";
    }
    up();
  }
  void TearDown() override {
    PlatformScene::TearDown();
    ::kill(keeper_, SIGKILL);
    ::waitpid(keeper_, nullptr, 0);
  }

  void enter_world() const override {
    const std::string name = "/proc/" + std::to_string(keeper_) + "/ns/mnt";
    if (::setns(::open(name.c_str(), O_RDONLY | O_CLOEXEC), CLONE_NEWNS) != 0) {
      ::_exit(126);
    }
  }

  void fill_disk() const {
    std::ofstream file(ballast(), std::ios::binary);
    const std::string block(4096, 'b');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void free_disk() const { std::filesystem::remove(ballast()); }

  /// What /readyz says, as the doctor reads it.
  [[nodiscard]] std::string journal() const {
    const nlohmann::json said = rubato("doctor --json --python true").json();
    for (const nlohmann::json& check : said.at("checks")) {
      if (check.at("check") == "journal") {
        return check.at("level");
      }
    }
    return "";
  }
  [[nodiscard]] bool journal_becomes(const std::string& level) const {
    for (int i = 0; i < 100; ++i) {
      if (journal() == level) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

 private:
  [[nodiscard]] bool has_small_disk() const {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", state_.c_str(), "tmpfs", 0, "size=8m") == 0;
  }
  [[nodiscard]] std::filesystem::path ballast() const {
    return "/proc/" + std::to_string(keeper_) + "/root" + state_.string() + "/ballast";
  }

  pid_t keeper_ = -1;
};

TEST_F(FullDiskScene, LosesNothingAndGoesOnWhenThereIsRoom) {
  const std::string job = std::string(kEmulated) + " --deadline 60s --steps ";
  ASSERT_EQ(rubato("run --detach --name before" + job + "30").code, 0);
  ASSERT_TRUE(comes_to("1", "state", "RUNNING"));

  fill_disk();
  auto waiting = std::async(std::launch::async,
                            [&] { return rubato("run --detach --name meanwhile" + job + "5"); });
  EXPECT_TRUE(journal_becomes("fail")) << "/readyz says that nothing can be journalled";
  EXPECT_NE(rubato("run --detach --name refused" + job + "20 2>/dev/null").code, 0);
  // The first job ends on the full disk: 30 steps are about a second.
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(1300)), std::future_status::timeout)
      << "nothing is answered that is not journalled";
  free_disk();

  EXPECT_EQ(waiting.get().code, 0);
  EXPECT_TRUE(journal_becomes("ok"));
  for (const char* id : {"1", "2"}) {
    EXPECT_TRUE(comes_to(id, "state", "SUCCEEDED")) << id;
    EXPECT_EQ(field(id, "restarts"), "0") << id;
    EXPECT_EQ(field(id, "missed"), "false") << id;
  }
  EXPECT_EQ(field("1", "steps_done"), "30");
  end(SIGKILL);
  up();
  EXPECT_EQ(rubato("list --json").json().at("jobs").size(), 2U) << "what was refused is not done";
  std::ifstream errors(folder_ / "up.errors");
  const std::string said((std::istreambuf_iterator<char>(errors)), {});
  EXPECT_THAT(said, HasSubstr("the disk is full"));
  EXPECT_THAT(said, testing::Not(HasSubstr("decided otherwise")));
}

TEST_F(FullDiskScene, EndsWhenToldAndPromisesNothing) {
  fill_disk();
  auto waiting = std::async(std::launch::async, [&] {
    return rubato("run --detach --steps 20 2>/dev/null" + std::string(kEmulated));
  });
  ASSERT_TRUE(journal_becomes("fail"));

  end(SIGTERM);

  EXPECT_NE(waiting.get().code, 0) << "a job that is not journalled was not taken";
  free_disk();
  up();
  EXPECT_EQ(rubato("list --json").json().value("jobs", nlohmann::json::array()).size(), 0U);
}

}  // namespace
}  // namespace rubato
