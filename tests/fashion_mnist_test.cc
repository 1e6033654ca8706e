// A real model on real images: what a wild history of sizes and deaths does to what is learnt.
#include "train_scene_test.h"

namespace rubato {
namespace {

// Where Debian's dataset-fashion-mnist puts it.
constexpr const char* kImages = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";

/// Trains the C++ example with and without disturbances.
class FashionMnistTest : public TrainScene {
 protected:
  void SetUp() override {
    TrainScene::SetUp();
    program_ = std::string(std::getenv("RUBATO_PROGRAMS")) + "/fashion_mnist_cpp";
    if (!std::filesystem::exists(program_) || !std::filesystem::exists(kImages)) {
      GTEST_SKIP() << "needs libtorch and dataset-fashion-mnist";
    }
  }

  TrainOutcome learnt(const std::vector<std::string>& flags, const std::string& deterministic) {
    TrainOutcome outcome = train(flags, {program_, "--limit", "12800", "--epochs", "2", "--batch",
                                         "128", "--deterministic", deterministic});
    EXPECT_EQ(outcome.code, 0) << outcome.errors;
    EXPECT_EQ(outcome.report["steps"], 200);
    EXPECT_EQ(outcome.report["hashes_agree"], true);
    return outcome;
  }

  // Rank 0 prints it; with --json that goes to stderr.
  static double accuracy(const TrainOutcome& outcome) {
    const std::size_t at = outcome.errors.find("accuracy ");
    EXPECT_NE(at, std::string::npos) << outcome.errors;
    return at == std::string::npos ? 0 : std::stod(outcome.errors.substr(at + 9));
  }

  std::string program_;
};

const std::vector<std::string> kWild = {
    "--workers", "2",
    "--resize",  "at step 10: 3; at step 40: 1; at step 60: 4; at step 150: 2",
    "--kill",    "worker 1 at step 25; worker 0 at step 120"};

TEST_F(FashionMnistTest, AWildHistoryLearnsAsMuchAsAFixedSize) {
  const double fixed = accuracy(learnt({"--workers", "2"}, "no"));
  const double wild = accuracy(learnt(kWild, "no"));

  EXPECT_GT(fixed, 0.75);
  EXPECT_NEAR(wild, fixed, 0.02);
}

TEST_F(FashionMnistTest, AWildHistoryEndsWithTheSameBitsInDeterministicMode) {
  const TrainOutcome fixed = learnt({"--workers", "1"}, "yes");
  const TrainOutcome wild = learnt(kWild, "yes");

  EXPECT_EQ(wild.report["parameter_hash"], fixed.report["parameter_hash"]);
}

}  // namespace
}  // namespace rubato
