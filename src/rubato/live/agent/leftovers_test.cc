#include "rubato/live/agent/leftovers.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "rubato/launch/process/process.h"

namespace rubato {
namespace {

TEST(Leftovers, EndsExactlyTheProcessesOfAJob) {
  const std::string directory = "/nowhere/" + std::to_string(::getpid());
  const auto start = [](const std::string& mark) {
    return Process::start({.argv = {"/bin/sleep", "1000"},
                           .environment = {{"RUBATO_JOB_DIRECTORY", mark}},
                           .directory = "/"});
  };
  auto ours = start(directory);
  auto other = start(directory + "1");
  ASSERT_TRUE(ours.ok() && other.ok());

  // The variable is there as soon as the program is.
  while (processes_of_job(directory).empty()) {
  }
  EXPECT_EQ(processes_of_job(directory), std::vector<pid_t>{ours->pid()});
  EXPECT_FALSE(end_leftovers(directory));
  while (!ours->poll_exit()) {
  }

  EXPECT_TRUE(end_leftovers(directory));
  EXPECT_FALSE(other->poll_exit().has_value());
}

}  // namespace
}  // namespace rubato
