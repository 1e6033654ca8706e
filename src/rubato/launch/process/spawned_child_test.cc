#include "rubato/launch/process/spawned_child.h"

#include <sys/wait.h>

#include "rubato/launch/process/process_scene_test.h"

namespace rubato {
namespace {

// The exit code of a child that believes to have this parent.
int code_with_parent(pid_t parent, bool dies_with_parent) {
  std::string path = "/bin/true";
  const std::array<char*, 2> argv{path.data(), nullptr};
  const std::array<char*, 1> environment{nullptr};
  const ProcessSpec spec{.argv = {path}, .dies_with_parent = dies_with_parent};
  SpawnedChild child{.spec = &spec,
                     .path = path.c_str(),
                     .argv = argv.data(),
                     .shell_argv = argv.data(),
                     .environment = environment.data(),
                     .parent = parent};
  const pid_t pid = ::fork();
  if (pid == 0) {
    run_spawned_child(&child);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SpawnedChild, DoesNotRunIfItsParentIsGoneAlready) {
  const pid_t gone = ::getpid() + 1;

  EXPECT_EQ(code_with_parent(gone, /*dies_with_parent=*/true), 127);
  EXPECT_EQ(code_with_parent(gone, /*dies_with_parent=*/false), 0);
  EXPECT_EQ(code_with_parent(::getpid(), /*dies_with_parent=*/true), 0);
}

}  // namespace
}  // namespace rubato
