#include "rubato/launch/process/cgroup.h"

#include <gmock/gmock.h>

#include "rubato/launch/process/process_scene_test.h"

namespace rubato {
namespace {

// A folder that looks like a system; the kernel's part is played by plain files.
class CgroupTest : public testing::Test {
 protected:
  CgroupTest() {
    std::filesystem::create_directories(root_.at("mount/user/session"));
    places_ = {.own = root_.write("own", "4:memory:/elsewhere\n0::/user/session\n"),
               .mounts = root_.write(
                   "mounts", "29 23 0:25 / /sys/fs rw - tmpfs tmpfs rw\n30 23 0:26 / " +
                                 root_.at("mount") + " rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"),
               .user_namespaces = root_.write("namespaces", "96343\n")};
    set("cgroup.controllers", "cpuset cpu io memory pids\n");
    set("cgroup.subtree_control", "");
  }

  void set(const std::string& file, const std::string& text) {
    root_.write("mount/user/session/" + file, text);
  }
  [[nodiscard]] std::string get(const std::string& file) const {
    return root_.read("mount/user/session/" + file);
  }
  // The kernel makes these files with the folder.
  void prepare_worker(const std::string& name) {
    std::filesystem::create_directories(root_.at("mount/user/session/" + name));
    for (const char* const file : {"cpu.weight", "memory.max", "cgroup.procs", "cgroup.kill"}) {
      set(name + "/" + file, "");
    }
  }

  TestFolder root_{"cgroup_test"};
  CgroupPlaces places_;
};

TEST_F(CgroupTest, FindsOurCgroupAndItsControllers) {
  const IsolationSupport support = isolation_support(places_);

  EXPECT_TRUE(support.has_cpu_weights && support.has_memory_limits && support.has_user_namespaces);
  EXPECT_EQ(support.folder, root_.at("mount") + "/user/session");
  EXPECT_EQ(support.note, "");
}

TEST_F(CgroupTest, SaysWhatIsMissing) {
  set("cgroup.controllers", "cpu\n");
  EXPECT_THAT(isolation_support(places_).note, testing::HasSubstr("no memory limits per worker"));
  EXPECT_FALSE(isolation_support(places_).has_memory_limits);

  set("cgroup.controllers", "\n");
  EXPECT_THAT(isolation_support(places_).note, testing::HasSubstr("has no such controller"));
  EXPECT_EQ(isolation_support(places_).folder, "");

  places_.mounts = root_.at("none");
  EXPECT_THAT(isolation_support(places_).note, testing::HasSubstr("not mounted"));
  EXPECT_FALSE(WorkerCgroup::create(isolation_support(places_), "worker-1", {}).ok());
}

TEST_F(CgroupTest, LeavesAloneWhatIsNotOurs) {
  std::filesystem::remove(root_.at("mount/user/session/cgroup.subtree_control"));

  const IsolationSupport support = isolation_support(places_);

  EXPECT_THAT(support.note, testing::HasSubstr("not ours to divide"));
  EXPECT_FALSE(support.has_cpu_weights);
}

TEST_F(CgroupTest, WritesTheLimitsOfAWorkerAndReadsItsEnd) {
  prepare_worker("worker-1");
  {
    const auto cgroup = WorkerCgroup::create(isolation_support(places_), "worker-1",
                                             {.cpu_weight = 50, .memory_bytes = 1 << 30});
    ASSERT_TRUE(cgroup.ok()) << cgroup.error().message;

    EXPECT_EQ(get("cgroup.subtree_control"), "+cpu +memory");
    EXPECT_EQ(get("worker-1/cpu.weight"), "50");
    EXPECT_EQ(get("worker-1/memory.max"), "1073741824");
    EXPECT_GE(cgroup->procs(), 0);
    EXPECT_EQ(cgroup->oom_kills(), 0);
    set("worker-1/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 1\n");
    EXPECT_EQ(cgroup->oom_kills(), 2);
  }
  EXPECT_EQ(get("worker-1/cgroup.kill"), "1");
}

TEST_F(CgroupTest, AProcessMovesItselfBeforeItRuns) {
  prepare_worker("worker-1");
  const auto cgroup = WorkerCgroup::create(isolation_support(places_), "worker-1", {});
  ASSERT_TRUE(cgroup.ok());

  auto process = Process::start({.argv = {"/bin/sh", "-c", "exit 0"}, .cgroup = cgroup->procs()});

  ASSERT_TRUE(process.ok()) << process.error().message;
  EXPECT_EQ(get("worker-1/cgroup.procs"), "0");
  EXPECT_EQ(wait_exit(*process), ExitStatus{});
}

TEST_F(CgroupTest, SaysWhatTheKernelDidNotPermit) {
  std::filesystem::create_directories(root_.at("mount/user/session/worker-1"));

  const auto cgroup =
      WorkerCgroup::create(isolation_support(places_), "worker-1", {.cpu_weight = 50});

  ASSERT_FALSE(cgroup.ok());
  EXPECT_THAT(cgroup.error().message, testing::HasSubstr("cpu.weight"));
  EXPECT_FALSE(std::filesystem::exists(root_.at("mount/user/session/worker-1")))
      << "an empty one is not left behind";
}

TEST(Isolation, OfThisMachineIsEitherThereOrExplained) {
  const IsolationSupport support = isolation_support();

  EXPECT_EQ(support.note.empty(), support.has_cpu_weights && support.has_memory_limits);
  EXPECT_EQ(support.folder.empty(), !support.has_cpu_weights && !support.has_memory_limits);
  EXPECT_GE(machine_oom_kills(), 0);
}

TEST(Isolation, CountersAreReadByName) {
  EXPECT_EQ(counter_in("oom 3\noom_kill 2\n", "oom_kill"), 2);
  EXPECT_EQ(counter_in("oom 3\n", "oom_kill"), 0);
  EXPECT_EQ(counter_in("", "oom_kill"), 0);
}

}  // namespace
}  // namespace rubato
