#include "rubato/runtime/group/choose_communicator.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

CommunicatorKind chosen(const GroupSituation& situation) { return *choose_communicator(situation); }

TEST(ChooseCommunicator, SharesMemoryOnOneHost) {
  EXPECT_EQ(chosen({.hosts = {7}}), CommunicatorKind::Shm);
  EXPECT_EQ(chosen({.has_gloo = true, .hosts = {7, 7, 7}}), CommunicatorKind::Shm);
  EXPECT_EQ(chosen({.is_deterministic = true, .hosts = {7, 7}}), CommunicatorKind::Shm);
}

TEST(ChooseCommunicator, SumsOnHostsFirstWhereThatSavesTraffic) {
  EXPECT_EQ(chosen({.has_gloo = true, .hosts = {1, 1, 2}}), CommunicatorKind::Hosts);
  EXPECT_EQ(chosen({.has_gloo = true, .hosts = {1, 2, 3}}), CommunicatorKind::Gloo);
}

TEST(ChooseCommunicator, KeepsOneTreeInDeterministicMode) {
  EXPECT_EQ(chosen({.has_gloo = true, .is_deterministic = true, .hosts = {1, 1, 2}}),
            CommunicatorKind::Gloo);
  EXPECT_EQ(chosen({.device = GradientDevice::Gpu,
                    .has_nccl = true,
                    .is_deterministic = true,
                    .hosts = {1, 1}}),
            CommunicatorKind::Shm);
}

TEST(ChooseCommunicator, TakesNcclForGpusIfItIsThere) {
  EXPECT_EQ(chosen({.device = GradientDevice::Gpu, .has_nccl = true, .hosts = {1, 2}}),
            CommunicatorKind::Nccl);
  EXPECT_EQ(chosen({.device = GradientDevice::Gpu, .has_gloo = true, .hosts = {1, 2}}),
            CommunicatorKind::Gloo);
  EXPECT_EQ(chosen({.device = GradientDevice::Cpu, .has_nccl = true, .hosts = {1, 1}}),
            CommunicatorKind::Shm);
}

TEST(ChooseCommunicator, SaysWhatIsMissingIfHostsCannotBeJoined) {
  const auto choice = choose_communicator({.hosts = {1, 2}});

  ASSERT_FALSE(choice.ok());
  EXPECT_NE(choice.error().message.find("gloo"), std::string::npos);
}

}  // namespace
}  // namespace rubato
