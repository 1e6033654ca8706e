#include <sstream>

#include <gmock/gmock.h>

#include "rubato/launch/warm/zygote_scene_test.h"

namespace rubato {
namespace {

// Warm interpreters with torch loaded, which is what they are for.
class ZygoteTorchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!ZygoteScene::has_python()) {
      GTEST_SKIP() << kSystemPython << " is not there";
    }
    if (scene_.ready().word == ZygoteWord::Unfit) {
      GTEST_SKIP() << scene_.ready().why;
    }
    ASSERT_EQ(scene_.ready().word, ZygoteWord::Ready) << scene_.ready().why;
  }

  ProcessSpec script(const std::string& text) {
    folder_.write("train.py", text);
    return scene_.process({"python3", "train.py"}, folder_.path());
  }

  TestFolder folder_{"zygote_torch_test"};
  ZygoteScene scene_{{"torch"}, {{"OMP_NUM_THREADS", "2"}}};
};

TEST_F(ZygoteTorchTest, TrainsToTheSameNumbersAsAColdScript) {
  const ProcessSpec spec = script(R"(
import ctypes, torch
torch.manual_seed(3)
print(torch.get_num_threads(), torch.get_num_interop_threads())
with open("/proc/self/maps") as file:
    paths = sorted({line.split()[-1] for line in file if "openblas" in line})
for path in paths:
    library = ctypes.CDLL(path)
    if hasattr(library, "openblas_get_num_threads"):
        print(path, library.openblas_get_num_threads())
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    loss = model(torch.randn(512, 64)).square().mean()
    loss.backward()
    optimizer.step()
print(loss.item(), float((torch.randn(300, 300) @ torch.randn(300, 300)).sum()))
loader = torch.utils.data.DataLoader(range(8), batch_size=4, num_workers=1)
print([batch.tolist() for batch in loader])
)");

  const ScriptRun cold = scene_.cold(spec);
  const ScriptRun warm = scene_.warm(spec);

  EXPECT_EQ(cold.status, ExitStatus{}) << cold.errors;
  EXPECT_EQ(warm.output, cold.output);
  EXPECT_EQ(warm.errors, cold.errors);
  EXPECT_EQ(warm.status, cold.status);
}

TEST_F(ZygoteTorchTest, DrawsItsOwnSeeds) {
  const ProcessSpec spec = script(
      "import torch, numpy, random\n"
      "print(torch.initial_seed(), numpy.random.rand(), random.random())\n");

  std::istringstream first(scene_.warm(spec).output);
  std::istringstream second(scene_.warm(spec).output);

  std::string one;
  std::string other;
  for (int i = 0; i < 3; ++i) {
    first >> one;
    second >> other;
    EXPECT_FALSE(one.empty());
    EXPECT_NE(one, other);
  }
}

}  // namespace
}  // namespace rubato
