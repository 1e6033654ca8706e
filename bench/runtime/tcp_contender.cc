#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/runtime/contender.h"
#include "rubato/runtime/group/gloo_communicator.h"

namespace rubato {
namespace {

/// A rendezvous of processes on one host: a file for each key.
class FileRendezvous final : public Rendezvous {
 public:
  explicit FileRendezvous(std::string directory) : directory_(std::move(directory)) {}

  [[nodiscard]] Status set(std::string_view key, std::string_view value) override {
    const std::string path = path_of(key);
    std::ofstream(path + ".part", std::ios::binary) << value;
    std::filesystem::rename(path + ".part", path);
    return ok_status();
  }

  [[nodiscard]] Result<std::string> get(std::string_view key, Duration patience) override {
    const auto start = std::chrono::steady_clock::now();
    while (!std::filesystem::exists(path_of(key))) {
      if (std::chrono::steady_clock::now() - start > patience) {
        return Error{.code = ErrorCode::NotFound, .message = fmt::format("nobody set {}", key)};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::ostringstream text;
    text << std::ifstream(path_of(key), std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  [[nodiscard]] std::string path_of(std::string_view key) const {
    std::string name(key);
    std::ranges::replace(name, '/', '_');
    return directory_ + "/" + name;
  }

  std::string directory_;
};

class TcpContender final : public Contender {
 public:
  explicit TcpContender(const BenchCrew& crew)
      : weights_(static_cast<std::size_t>(crew.size), 1.0F / static_cast<float>(crew.size)) {
    FileRendezvous rendezvous(crew.directory);
    for (int rank = 0; rank < crew.size; ++rank) {
      places_.push_back({.rank = rank});
    }
    group_ = *join_gloo_group(
        {.rank = crew.rank,
         .size = crew.size,
         .name = "tcp",
         .patience = from_seconds(60),
         .arena = std::make_shared<Arena>(*Arena::create({.floats = crew.floats_max}))},
        rendezvous);
  }

  [[nodiscard]] std::string name() const override { return "rubato-tcp"; }

  [[nodiscard]] bool all_reduce(std::size_t floats) override {
    return group_->reduce({.places = places_, .weights = weights_, .floats = floats}, report_).ok();
  }

 private:
  std::vector<ShardPlace> places_{};
  std::vector<float> weights_;
  std::unique_ptr<Communicator> group_{};
  ReduceReport report_{};
};

}  // namespace

std::unique_ptr<Contender> make_tcp_contender(const BenchCrew& crew) {
  return std::make_unique<TcpContender>(crew);
}

}  // namespace rubato
