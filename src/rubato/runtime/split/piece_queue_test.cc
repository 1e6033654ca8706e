#include "rubato/runtime/split/piece_queue.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/runtime/split/idle_steps.h"
#include "rubato/runtime/split/peer_process_test.h"
#include "rubato/runtime/split/step_table.h"

namespace rubato::runtime::split {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::size_t kFloats = 12 * kPieceFloats + 100;
constexpr std::size_t kArrays = 6;  // Parameter, gradient, two moments, two parts.

/// A step of Adam whose gradients are of two parts, in memory that is shared or not.
class StepScene {
 public:
  explicit StepScene(float* memory, std::span<StepPiece> pieces = {})
      : memory_(memory), table_(std::vector{entry()}, pieces) {
    work_.parts = 2;
    work_.base = GradientBase::Value;
    work_.areas = {array(4), array(5)};
  }

  void fill() {
    std::mt19937 random(11);
    std::uniform_real_distribution<float> numbers(0.1F, 1.0F);
    std::generate(memory_, memory_ + kArrays * kFloats, [&] { return numbers(random); });
  }

  [[nodiscard]] const StepWork& work(int step) {
    work_.settings[1] =
        update_settings(AdamOptions{.rate = 0.01, .beta1 = 0.9, .beta2 = 0.99, .step = step + 1.0});
    return work_;
  }

  [[nodiscard]] std::span<const StepPiece> pieces() const { return table_.pieces(); }
  [[nodiscard]] bool has_bits_of(const StepScene& other) const {
    return std::memcmp(memory_, other.memory_, kArrays * kFloats * sizeof(float)) == 0;
  }

 private:
  [[nodiscard]] float* array(std::size_t index) const { return memory_ + index * kFloats; }
  [[nodiscard]] StepEntry entry() const {
    return {.parameter = array(0),
            .gradient = array(1),
            .first = array(2),
            .second = array(3),
            .floats = kFloats,
            .settings = 1};
  }

  float* memory_;
  StepTable table_;
  StepWork work_{};
};

/// A scene that processes share, its queue, and the same scene computed by one process.
struct QueueScene {
  SharedRegion region = *SharedRegion::create(std::size_t{64} << 20U);
  PieceQueue queue = *PieceQueue::open(region, 0);
  std::vector<float> alone_memory = std::vector<float>(kArrays * kFloats);
  StepScene alone{alone_memory.data()};
  StepScene shared{
      reinterpret_cast<float*>(region.address() + (std::size_t{32} << 20U)),
      {reinterpret_cast<StepPiece*>(region.address() + (std::size_t{60} << 20U)), 100}};

  QueueScene() {
    alone.fill();
    shared.fill();
  }

  void step_alone(int step) {
    const StepWork& work = alone.work(step);
    for (const StepPiece& piece : alone.pieces()) {
      run_piece(expected_step_kind(), work, piece);
    }
  }
  void publish(int step) {
    queue.publish(expected_step_kind(), shared.work(step), shared.pieces());
  }
};

TEST(PieceQueue, TakesTheStepsOfOneProcessInTheSameBits) {
  QueueScene scene;
  for (int step = 0; step < 5; ++step) {
    scene.step_alone(step);
    scene.publish(step);
    EXPECT_TRUE(scene.queue.has_work());
    while (scene.queue.do_piece(0)) {
    }

    EXPECT_TRUE(scene.queue.finish(seconds(0)));
    EXPECT_FALSE(scene.queue.has_work());
  }

  EXPECT_TRUE(scene.shared.has_bits_of(scene.alone));
}

TEST(PieceQueue, SharesStepsWithReplicas) {
  QueueScene scene;
  std::vector<std::unique_ptr<PeerProcess>> replicas;
  for (unsigned rank = 1; rank <= 2; ++rank) {
    replicas.push_back(std::make_unique<PeerProcess>([&scene, rank] {
      while (true) {
        static_cast<void>(scene.queue.do_piece(rank));
      }
      return 0;
    }));
  }
  for (int step = 0; step < 50; ++step) {
    scene.step_alone(step);
    scene.publish(step);
    if (step % 2 == 0) {
      // The replicas do all of it now and then.
      while (scene.queue.has_work()) {
      }
    }
    while (scene.queue.do_piece(0)) {
    }
    ASSERT_TRUE(scene.queue.finish(seconds(60)));
    ASSERT_TRUE(scene.shared.has_bits_of(scene.alone)) << "step " << step;
  }
}

// Killed at whatever instruction: the step is whole afterwards, and no piece is done twice.
TEST(PieceQueue, PutsBackAndDoesAgainWhatKilledReplicasHeld) {
  QueueScene scene;
  std::mt19937 random(17);
  int recovered = 0;
  for (int step = 0; step < 400; ++step) {
    scene.step_alone(step);
    PeerProcess replica([&scene] {
      while (true) {
        static_cast<void>(scene.queue.do_piece(1));
      }
      return 0;
    });
    scene.publish(step);
    // It has begun, or is slow to start: then it is killed there.
    const auto begin = std::chrono::steady_clock::now();
    const auto elapsed = [&begin] { return std::chrono::steady_clock::now() - begin; };
    while (scene.queue.holders().empty() && elapsed() < microseconds(20'000)) {
    }
    const microseconds delay(random() % 60);
    const auto from = elapsed();
    while (elapsed() - from < delay) {
    }
    if (step % 3 != 0) {
      replica.kill();
    }
    while (scene.queue.do_piece(0)) {
    }
    if (step % 3 == 0) {
      replica.kill();
    }
    while (!scene.queue.finish(microseconds(0))) {
      const std::vector<unsigned> holders = scene.queue.holders();
      ASSERT_EQ(holders, std::vector<unsigned>{1});
      scene.queue.recover(1);
      ++recovered;
    }
    ASSERT_TRUE(scene.shared.has_bits_of(scene.alone)) << "step " << step;
  }

  EXPECT_GT(recovered, 20) << "too few were killed at a piece to prove anything";
}

TEST(PieceQueue, DoesItselfWhatNobodyTookInTheEnd) {
  QueueScene scene;
  scene.step_alone(0);
  scene.publish(0);
  {
    // Takes numbers as a replica that is killed right after that.
    auto& words = *reinterpret_cast<PieceQueueWords*>(scene.region.address());
    words.ticket += 5;
  }
  while (scene.queue.do_piece(0)) {
  }

  EXPECT_TRUE(scene.queue.finish(seconds(0)));
  EXPECT_TRUE(scene.shared.has_bits_of(scene.alone));
}

/// A mailbox beside a step that is shared.
struct IdleScene : QueueScene {
  Mailbox mailbox = *Mailbox::open(region, std::size_t{62} << 20U, 100);
  std::atomic<std::uint64_t>* ticket =
      reinterpret_cast<std::atomic<std::uint64_t>*>(region.address() + (std::size_t{63} << 20U));

  SpinBudget budget{};

  bool wait(microseconds timeout) {
    const std::vector<WorkTicket> tickets{{.word = ticket, .round_declined = 1}};
    return wait_and_help(mailbox.requests(), budget, timeout, tickets, queue, /*rank=*/1);
  }
};

TEST(IdleSteps, HelpsUntilARequestComes) {
  IdleScene scene;
  scene.step_alone(0);
  scene.publish(0);

  EXPECT_FALSE(scene.wait(microseconds(1000)));
  EXPECT_TRUE(scene.queue.finish(seconds(0)));
  EXPECT_TRUE(scene.shared.has_bits_of(scene.alone));

  ASSERT_TRUE(scene.mailbox.requests().send({}).ok());
  EXPECT_TRUE(scene.wait(seconds(60)));
}

TEST(IdleSteps, WakesForAStepAndEndsForOtherWork) {
  IdleScene scene;
  PeerProcess replica([&] { return scene.wait(seconds(60)) ? 7 : 8; });
  while (scene.mailbox.requests().signal().sleepers == 0) {  // It has spun for long enough.
  }
  scene.step_alone(0);
  scene.publish(0);
  scene.mailbox.requests().signal().raise();
  while (scene.queue.has_work()) {
  }
  EXPECT_TRUE(scene.queue.finish(seconds(60)));
  EXPECT_TRUE(scene.shared.has_bits_of(scene.alone));

  reinterpret_cast<std::atomic<std::uint32_t>*>(scene.ticket + 1)->store(3);
  for (const std::uint64_t round : {1U, 2U}) {  // The first is declined.
    scene.ticket->store((round << 32U) + 1);
    scene.mailbox.requests().signal().raise();
  }

  EXPECT_EQ(replica.join(), 7);
}

}  // namespace
}  // namespace rubato::runtime::split
