#include "rubato/runtime/split/exchange.h"

#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/runtime/split/peer_process_test.h"

namespace rubato::runtime::split {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

/// An exchange of up to four ranks in memory of its own.
struct ExchangeScene {
  SharedRegion region = *SharedRegion::create(1 << 20);
  Exchange exchange = *Exchange::open(region, 128, 4, 3);

  ExchangeOutcome gather(double value, const ExchangeTurn& turn,
                         microseconds timeout = seconds(60)) {
    const std::array<double, 3> vector{value, value + 1, value + 2};
    return *exchange.all_gather(std::as_bytes(std::span(vector)), turn, timeout);
  }

  /// The sum of the last numbers of all ranks.
  [[nodiscard]] double sum(const ExchangeTurn& turn) const {
    double sum = 0;
    for (unsigned rank = 0; rank < turn.ranks; ++rank) {
      const std::size_t offset = *exchange.slot_offset(rank, turn.sequence);
      sum += reinterpret_cast<const double*>(region.address() + offset)[2];
    }
    return sum;
  }
};

TEST(Exchange, ShowsTheVectorsOfAllRanks) {
  for (const unsigned ranks : {1U, 2U, 4U}) {
    ExchangeScene scene;
    const auto work = [&](unsigned rank) {
      for (std::uint32_t sequence = 0; sequence < 500; ++sequence) {
        const ExchangeTurn turn{
            .rank = rank, .ranks = ranks, .sequence = sequence, .generation = 1};
        if (scene.gather(1000.0 * rank + sequence, turn) != ExchangeOutcome::Complete) {
          return 1;
        }
        if (scene.sum(turn) != 500.0 * ranks * (ranks - 1) + ranks * (sequence + 2.0)) {
          return 2;
        }
      }
      return 0;
    };
    std::vector<std::unique_ptr<PeerProcess>> peers;
    for (unsigned rank = 1; rank < ranks; ++rank) {
      peers.push_back(std::make_unique<PeerProcess>([&work, rank] { return work(rank); }));
    }

    EXPECT_EQ(work(0), 0);
    for (const auto& peer : peers) {
      EXPECT_EQ(peer->join(), 0);
    }
  }
}

TEST(Exchange, TimesOutIfARankWasKilled) {
  ExchangeScene scene;
  PeerProcess peer([&] {
    static_cast<void>(scene.gather(1, {.rank = 1, .ranks = 2, .sequence = 0, .generation = 1}));
    return static_cast<int>(
        scene.gather(1, {.rank = 1, .ranks = 3, .sequence = 1, .generation = 1}));
  });
  ASSERT_EQ(scene.gather(0, {.rank = 0, .ranks = 2, .sequence = 0, .generation = 1}),
            ExchangeOutcome::Complete);
  peer.kill();

  EXPECT_EQ(
      scene.gather(0, {.rank = 0, .ranks = 2, .sequence = 2, .generation = 1}, microseconds(3000)),
      ExchangeOutcome::TimedOut);
}

TEST(Exchange, EndsTheTurnsOfAGenerationThatWasAborted) {
  ExchangeScene scene;
  PeerProcess peer([&] {
    return static_cast<int>(
        scene.gather(1, {.rank = 1, .ranks = 2, .sequence = 7, .generation = 5}));
  });

  scene.exchange.abort(5);

  EXPECT_EQ(peer.join(), static_cast<int>(ExchangeOutcome::Aborted));
  EXPECT_EQ(scene.gather(0, {.rank = 0, .ranks = 2, .sequence = 8, .generation = 5}),
            ExchangeOutcome::Aborted);
  // The next generation counts from zero again; the arrival from the last one does not count.
  EXPECT_EQ(
      scene.gather(0, {.rank = 0, .ranks = 2, .sequence = 0, .generation = 6}, microseconds(3000)),
      ExchangeOutcome::TimedOut);
  PeerProcess next([&] {
    return static_cast<int>(
        scene.gather(1, {.rank = 1, .ranks = 2, .sequence = 0, .generation = 6}));
  });
  EXPECT_EQ(scene.gather(0, {.rank = 0, .ranks = 2, .sequence = 0, .generation = 6}),
            ExchangeOutcome::Complete);
  EXPECT_EQ(next.join(), static_cast<int>(ExchangeOutcome::Complete));
}

TEST(Exchange, RefusesWhatDoesNotFit) {
  ExchangeScene scene;
  const std::array<double, 9> vector{};

  EXPECT_EQ(scene.exchange
                .all_gather(std::as_bytes(std::span(vector)), {.rank = 0, .ranks = 1}, seconds(1))
                .error()
                .message,
            "the vector has 72 bytes, but a slot of the exchange holds at most 64");
  EXPECT_FALSE(scene.exchange.all_gather({}, {.rank = 2, .ranks = 2}, seconds(1)).ok());
  EXPECT_FALSE(scene.exchange.all_gather({}, {.rank = 0, .ranks = 5}, seconds(1)).ok());
  EXPECT_FALSE(scene.exchange.slot_offset(4, 0).ok());
  EXPECT_FALSE(Exchange::open(scene.region, 0, 65, 3).ok());
}

}  // namespace
}  // namespace rubato::runtime::split
