#include "rubato/runtime/group/host_groups.h"

#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "rubato/runtime/shared_memory/reduce_check.h"

namespace rubato {
namespace {

constexpr std::size_t kShardsMax = 4096;

/// Where the ranks are: hosts in the order of their first ranks.
struct HostMap {
  std::vector<std::vector<int>> members{};  // By host, ascending.
  std::vector<int> host{};                  // By rank.
  std::vector<int> local{};                 // By rank: its place among the members of its host.
  std::size_t largest = 0;                  // Most members of any host.
};

HostMap map_of(std::span<const int> hosts) {
  HostMap map;
  std::map<int, int> numbers;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto [found, is_new] = numbers.try_emplace(hosts[rank], static_cast<int>(numbers.size()));
    if (is_new) {
      map.members.emplace_back();
    }
    auto& members = map.members[static_cast<std::size_t>(found->second)];
    map.host.push_back(found->second);
    map.local.push_back(static_cast<int>(members.size()));
    members.push_back(static_cast<int>(rank));
    map.largest = std::max(map.largest, members.size());
  }
  return map;
}

/// Numbers by which the first rank of a host speaks for all of it: a fingerprint, then the note of
/// each of its ranks, then the square of each of their shards.
std::size_t host_note_length(const HostMap& map) { return 1 + map.largest * (kNoteLength + 1); }

/// One rank of a group on two levels.
class HostCommunicator final : public Communicator {
 public:
  HostCommunicator(const HostGroups& groups, HostMap map, std::unique_ptr<Communicator> local,
                   std::unique_ptr<Communicator> across)
      : rank_(groups.rank),
        arena_(groups.arena),
        map_(std::move(map)),
        local_(std::move(local)),
        across_(std::move(across)),
        host_weights_(map_.members.size(), 1.0F),
        host_note_(host_note_length(map_)) {
    for (std::size_t host = 0; host < map_.members.size(); ++host) {
      host_places_.push_back({.rank = static_cast<int>(host)});
    }
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(map_.host.size()); }

  [[nodiscard]] Status reduce(const ReduceRequest& request, ReduceReport& report) override {
    return guarded([&] { return reduce_in_turn(request, report); });
  }

  [[nodiscard]] Status broadcast(std::span<std::byte> bytes, int source) override {
    return guarded([&] { return broadcast_in_turn(bytes, source); });
  }

  void abort() override {
    local_->abort();
    if (across_ != nullptr) {
      across_->abort();
    }
  }

 private:
  /// What fails on one level must not leave anyone waiting on the other.
  template <typename Call>
  [[nodiscard]] Status guarded(Call&& call) {
    Status status = call();
    if (!status) {
      abort();
    }
    return status;
  }

  [[nodiscard]] int host_of(int rank) const { return map_.host[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int local_of(int rank) const { return map_.local[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int own_host() const { return host_of(rank_); }

  [[nodiscard]] Status reduce_in_turn(const ReduceRequest& request, ReduceReport& report) {
    if (Status valid = check(request); !valid) {
      return valid;
    }
    if (Status reduced = reduce_host(request); !reduced) {
      return reduced;
    }
    report.notes.resize(map_.host.size() * kNoteLength);
    const bool has_squares = request.wants_squares && request.floats > 0;
    report.shard_squares.assign(has_squares ? request.places.size() : 0, 0.0);
    report.sum_square = 0;
    if (across_ != nullptr) {
      if (Status reduced = reduce_across(request, report); !reduced) {
        return reduced;
      }
    }
    return hand_down(request, report);
  }

  [[nodiscard]] Status check(const ReduceRequest& request) const {
    Status valid = check_reduce(
        request,
        {.size = size(), .slots = 1, .floats = arena_->layout().floats, .shards_max = kShardsMax});
    std::vector<bool> has_shard(map_.host.size(), false);
    for (std::size_t i = 0; i < request.places.size() && valid.ok() && request.floats > 0; ++i) {
      const auto rank = static_cast<std::size_t>(request.places[i].rank);
      if (has_shard[rank]) {
        return bad_input(fmt::format("reduce: rank {} has one slot and two shards", rank));
      }
      has_shard[rank] = true;
    }
    return valid;
  }

  /// Sums the shards of our host; its squares stay in local_report_.
  [[nodiscard]] Status reduce_host(const ReduceRequest& request) {
    local_places_.clear();
    local_weights_.clear();
    for (std::size_t i = 0; i < request.places.size() && request.floats > 0; ++i) {
      const ShardPlace& place = request.places[i];
      if (host_of(place.rank) == own_host()) {
        local_places_.push_back({.rank = local_of(place.rank)});
        local_weights_.push_back(request.weights[i]);
      }
    }
    if (local_places_.empty() && request.floats > 0) {
      // A host without shards adds zero.
      local_places_.push_back({});
      local_weights_.push_back(1);
      if (across_ != nullptr) {
        std::ranges::fill(arena_->slot(0).first(request.floats), 0.0F);
      }
    }
    return local_->reduce({.places = local_places_,
                           .weights = local_weights_,
                           .floats = request.floats,
                           .wants_squares = request.wants_squares,
                           .measured_floats = request.measured_floats,
                           .note = request.note},
                          local_report_);
  }

  /// Sums over hosts, and learns what their ranks have to say.
  [[nodiscard]] Status reduce_across(const ReduceRequest& request, ReduceReport& report) {
    const double fingerprint = std::bit_cast<double>(fingerprint_of(request));
    std::ranges::fill(host_note_, 0.0);
    host_note_[0] = fingerprint;
    std::ranges::copy(local_report_.notes, host_note_.begin() + 1);
    const std::size_t squares_at = 1 + map_.largest * kNoteLength;
    for (std::size_t i = 0; i < local_report_.shard_squares.size(); ++i) {
      host_note_[squares_at + i] = local_report_.shard_squares[i];
    }
    if (Status reduced = across_->reduce({.places = host_places_,
                                          .weights = host_weights_,
                                          .floats = request.floats,
                                          .wants_squares = request.wants_squares,
                                          .measured_floats = request.measured_floats,
                                          .note = host_note_},
                                         across_report_);
        !reduced) {
      return reduced;
    }
    for (std::size_t host = 0; host < map_.members.size(); ++host) {
      const std::span<const double> said = note_of(host);
      if (std::bit_cast<std::uint64_t>(said[0]) != std::bit_cast<std::uint64_t>(fingerprint)) {
        return bad_input(fmt::format("ranks {} and {} were asked for different things", rank_,
                                     map_.members[host][0]));
      }
      for (std::size_t i = 0; i < map_.members[host].size(); ++i) {
        std::ranges::copy(
            said.subspan(1 + i * kNoteLength, kNoteLength),
            report.notes.begin() + map_.members[host][i] * static_cast<int>(kNoteLength));
      }
    }
    read_squares(request, report);
    return ok_status();
  }

  [[nodiscard]] std::span<const double> note_of(std::size_t host) const {
    return std::span<const double>(across_report_.notes)
        .subspan(host * host_note_.size(), host_note_.size());
  }

  /// Each host told the squares of its shards in the order of the shards.
  void read_squares(const ReduceRequest& request, ReduceReport& report) const {
    if (!request.wants_squares || request.floats == 0) {
      return;
    }
    std::vector<std::size_t> next(map_.members.size(), 1 + map_.largest * kNoteLength);
    for (std::size_t shard = 0; shard < request.places.size(); ++shard) {
      const auto host = static_cast<std::size_t>(host_of(request.places[shard].rank));
      report.shard_squares[shard] = note_of(host)[next[host]++];
    }
    report.sum_square = across_report_.sum_square;
  }

  /// The first rank of a host passes the sum and the report on to the others.
  [[nodiscard]] Status hand_down(const ReduceRequest& request, ReduceReport& report) {
    if (local_->size() == 1) {
      return ok_status();
    }
    report_words_.clear();
    report_words_.push_back(report.sum_square);
    report_words_.insert(report_words_.end(), report.notes.begin(), report.notes.end());
    report_words_.insert(report_words_.end(), report.shard_squares.begin(),
                         report.shard_squares.end());
    if (Status sent = local_->broadcast(std::as_writable_bytes(std::span(report_words_)), 0);
        !sent) {
      return sent;
    }
    report.sum_square = report_words_[0];
    const auto notes_end = report_words_.begin() + 1 + static_cast<int>(report.notes.size());
    std::copy(report_words_.begin() + 1, notes_end, report.notes.begin());
    std::copy(notes_end, report_words_.end(), report.shard_squares.begin());
    if (request.floats == 0) {
      return ok_status();
    }
    return local_->broadcast(std::as_writable_bytes(arena_->slot(0).first(request.floats)), 0);
  }

  /// To the first rank of the source's host, from there to the first ranks of the others, and from
  /// them to their hosts.
  [[nodiscard]] Status broadcast_in_turn(std::span<std::byte> bytes, int source) {
    if (source < 0 || source >= size()) {
      return bad_input(fmt::format("broadcast: no rank {} among {}", source, size()));
    }
    const bool is_near = host_of(source) == own_host();
    if (is_near) {
      if (Status sent = local_->broadcast(bytes, local_of(source)); !sent) {
        return sent;
      }
    }
    if (across_ != nullptr) {
      if (Status sent = across_->broadcast(bytes, host_of(source)); !sent) {
        return sent;
      }
    }
    return is_near ? ok_status() : local_->broadcast(bytes, 0);
  }

  int rank_;
  std::shared_ptr<Arena> arena_;  // Shared with the groups before and after.
  HostMap map_;
  std::unique_ptr<Communicator> local_;
  std::unique_ptr<Communicator> across_;  // Only on the first rank of a host.
  std::vector<ShardPlace> host_places_{};
  std::vector<float> host_weights_;
  std::vector<double> host_note_;
  std::vector<ShardPlace> local_places_{};
  std::vector<float> local_weights_{};
  ReduceReport local_report_{};
  ReduceReport across_report_{};
  std::vector<double> report_words_{};
};

/// All ranks, as members of one group.
GroupPart everyone(const HostGroups& groups) {
  GroupPart part{.rank = groups.rank};
  for (int rank = 0; rank < static_cast<int>(groups.hosts.size()); ++rank) {
    part.members.push_back(rank);
  }
  return part;
}

}  // namespace

Result<std::unique_ptr<Communicator>> join_host_groups(const HostGroups& groups) {
  if (groups.rank < 0 || groups.rank >= static_cast<int>(groups.hosts.size()) ||
      groups.arena == nullptr) {
    return bad_input(
        fmt::format("no rank {} among {}, or it has no arena", groups.rank, groups.hosts.size()));
  }
  HostMap map = map_of(groups.hosts);
  if (map.members.size() == 1) {
    return groups.join_host(everyone(groups));
  }
  if (map.largest == 1 || groups.arena->layout().slots > 1) {
    return groups.join_across(everyone(groups));
  }
  const int local_rank = map.local[static_cast<std::size_t>(groups.rank)];
  const int host = map.host[static_cast<std::size_t>(groups.rank)];
  auto local = groups.join_host(
      {.members = map.members[static_cast<std::size_t>(host)], .rank = local_rank});
  if (!local) {
    return local.error();
  }
  std::unique_ptr<Communicator> across;
  if (local_rank == 0) {
    GroupPart part{.rank = host, .note_length = host_note_length(map)};
    for (const auto& members : map.members) {
      part.members.push_back(members[0]);
    }
    auto joined = groups.join_across(part);
    if (!joined) {
      (*local)->abort();  // The others of this host have joined it and would wait.
      return joined.error();
    }
    across = std::move(*joined);
  }
  return std::unique_ptr<Communicator>(std::make_unique<HostCommunicator>(
      groups, std::move(map), std::move(*local), std::move(across)));
}

}  // namespace rubato
