#include "rubato/live/agent/slots.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>

namespace rubato {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A folder with a program that answers in place of the driver's.
class SlotsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "rubato-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void answer(const std::string& script) const {
    std::ofstream(folder_ + "/nvidia-smi") << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(folder_ + "/nvidia-smi", std::filesystem::perms::owner_all);
  }
  [[nodiscard]] Result<GpuListing> list(Duration patience = std::chrono::seconds(60)) const {
    return list_gpus({{"PATH", folder_ + ":/usr/bin:/bin"}}, patience);
  }

  std::string folder_;
};

TEST_F(SlotsTest, FindsTheGpusThatTheDriverNames) {
  answer(R"(test "$*" = "--query-gpu=index,name,memory.total,uuid --format=csv,noheader" || exit 9
echo "0, NVIDIA A100-SXM4-40GB, 40960 MiB, GPU-aa"
echo "3, NVIDIA A100-SXM4-40GB, 40960 MiB, GPU-bb")");

  const auto listing = list();

  ASSERT_TRUE(listing.ok()) << listing.error().message;
  const wire::AgentNode node = gpu_node("here", *listing);
  EXPECT_EQ(node.gpu_type(), "a100");
  ASSERT_EQ(node.slots_size(), 2);
  EXPECT_EQ(node.slots(1).index(), 1) << "slots are counted without gaps";
  EXPECT_EQ(node.slots(1).device(), "GPU-bb");
  EXPECT_EQ(node.slots(1).description(), "NVIDIA A100-SXM4-40GB, 40960 MiB");
}

TEST_F(SlotsTest, WithoutADriverThereAreNone) {
  const auto listing = list_gpus({{"PATH", folder_}}, std::chrono::seconds(60));

  ASSERT_FALSE(listing.ok());
  EXPECT_EQ(listing.error().code, ErrorCode::NotFound);
}

TEST_F(SlotsTest, SaysWhatTheDriverComplainsOf) {
  answer("echo 'NVIDIA-SMI has failed: no communication with the driver' >&2; exit 9");

  const auto listing = list();

  ASSERT_FALSE(listing.ok());
  EXPECT_EQ(listing.error().code, ErrorCode::Io);
  EXPECT_THAT(listing.error().message, HasSubstr("no communication with the driver"));
}

TEST_F(SlotsTest, DoesNotWaitForeverForADriverThatHangs) {
  answer("sleep 1000");

  const auto listing = list(std::chrono::milliseconds(100));

  ASSERT_FALSE(listing.ok());
  EXPECT_THAT(listing.error().message, HasSubstr("does not answer"));
}

TEST(ParseGpus, LeavesOutThoseThatAreIll) {
  const GpuListing listing = parse_gpus(
      "0, Tesla V100, 16160 MiB, GPU-a\r\n"
      "1, Tesla V100, [Unknown Error], GPU-b\n"
      "Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.\n"
      "2, ERR!, 16160 MiB, GPU-c\n"
      "x, Tesla V100, 16160 MiB, GPU-d\n"
      "0, Tesla V100, 16160 MiB, GPU-e\n"
      "\n"
      "-1, Tesla V100, 16160 MiB, GPU-f\n"
      "3, Tesla V100, 16160 MiB, 17\n");

  ASSERT_EQ(listing.gpus.size(), 2U);
  EXPECT_EQ(listing.gpus[0],
            (FoundGpu{.index = 0, .name = "Tesla V100", .memory = "16160 MiB", .uuid = "GPU-a"}));
  EXPECT_EQ(gpu_node("n", listing).slots(1).device(), "3") << "no name that CUDA would know";
  EXPECT_EQ(listing.notes.size(), 6U);
  EXPECT_THAT(listing.notes[1], HasSubstr("GPU is lost"));
}

TEST(GpuType, IsTheModelInShort) {
  EXPECT_EQ(gpu_type_of("NVIDIA A100-SXM4-40GB"), "a100");
  EXPECT_EQ(gpu_type_of("Tesla V100-SXM2-16GB"), "v100");
  EXPECT_EQ(gpu_type_of("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(gpu_type_of("NVIDIA GeForce RTX 3090"), "rtx-3090");
  EXPECT_EQ(gpu_type_of(""), "");
}

TEST(EmulatedNodes, AreAsManyAsAskedFor) {
  const auto nodes = emulated_nodes("16x8");

  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 16U);
  EXPECT_EQ(nodes->front().name(), "emulated-01");
  EXPECT_EQ(nodes->back().slots_size(), 8);
  EXPECT_TRUE(nodes->back().emulated());
  EXPECT_EQ(cpu_node("n", 3).slots(2).index(), 2);
  for (const char* text : {"", "16", "16x", "x8", "0x8", "16x0", "16x8x2", "-1x3", "99999x1"}) {
    EXPECT_FALSE(emulated_nodes(text).ok()) << text;
  }
}

}  // namespace
}  // namespace rubato
