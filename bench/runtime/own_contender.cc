#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "bench/runtime/contender.h"
#include "rubato/runtime/shared_memory/shm_communicator.h"
#include "rubato/wire/descriptor.h"

namespace rubato {
namespace {

/// The file in which a rank tells where its descriptors are.
std::string card_path(const BenchCrew& crew, int rank) {
  return fmt::format("{}/rank{}", crew.directory, rank);
}

/// Another rank's descriptors, opened through the process that holds them.
struct PeerFiles {
  Descriptor arena{};
  Descriptor meeting{};
};

PeerFiles files_of(const BenchCrew& crew, int rank) {
  while (!std::filesystem::exists(card_path(crew, rank))) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::ifstream card(card_path(crew, rank));
  int process = 0;
  int arena = 0;
  int meeting = 0;
  card >> process >> arena >> meeting;
  const auto opened = [process](int number) {
    return Descriptor{open(fmt::format("/proc/{}/fd/{}", process, number).c_str(), O_RDWR)};
  };
  return {.arena = opened(arena), .meeting = opened(meeting)};
}

class ShmContender final : public Contender {
 public:
  ShmContender(Communicator& group, int size)
      : group_(&group), weights_(static_cast<std::size_t>(size), 1.0F / static_cast<float>(size)) {
    for (int rank = 0; rank < size; ++rank) {
      places_.push_back({.rank = rank});
    }
  }

  [[nodiscard]] std::string name() const override { return "rubato"; }

  [[nodiscard]] bool all_reduce(std::size_t floats) override {
    return group_->reduce({.places = places_, .weights = weights_, .floats = floats}, report_).ok();
  }

 private:
  Communicator* group_;
  std::vector<ShardPlace> places_{};
  std::vector<float> weights_;
  ReduceReport report_{};
};

}  // namespace

OwnContender make_own_contender(const BenchCrew& crew) {
  auto arena = std::make_shared<Arena>(*Arena::create({.floats = crew.floats_max}));
  const Descriptor meeting{memfd_create("bench-meeting", MFD_CLOEXEC)};
  RUBATO_CHECK(ftruncate(meeting.get(), static_cast<off_t>(kMeetingBytes)) == 0);
  const std::string unfinished = card_path(crew, crew.rank) + ".part";
  std::ofstream(unfinished) << getpid() << ' ' << arena->descriptor() << ' ' << meeting.get();
  std::filesystem::rename(unfinished, card_path(crew, crew.rank));

  ShmGroup group{.rank = crew.rank, .cpus = static_cast<int>(std::thread::hardware_concurrency())};
  Descriptor first_meeting;
  for (int rank = 0; rank < crew.size; ++rank) {
    PeerFiles files = files_of(crew, rank);
    group.arenas.push_back(
        rank == crew.rank ? arena : std::make_shared<Arena>(*Arena::map(files.arena.get())));
    if (rank == 0) {
      first_meeting = std::move(files.meeting);
    }
  }
  group.meeting = first_meeting.get();
  OwnContender own{.group = *join_shm_group(std::move(group))};
  // Nobody closes its descriptors before all have opened them.
  ReduceReport report;
  RUBATO_CHECK(own.group->reduce({}, report).ok());
  own.contender = std::make_unique<ShmContender>(*own.group, crew.size);
  return own;
}

}  // namespace rubato
