#include "rubato/runtime/group/group_builder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace rubato {
namespace {

// Where a worker sits in a generation; nothing if it is no member.
std::optional<GroupSeats> seats_of(std::uint64_t worker, const GenerationPost& post) {
  GroupSeats seats{.rank = -1};
  for (const MemberName& member : post.members) {
    if (member.worker == worker) {
      seats.rank = static_cast<int>(seats.workers.size());
    }
    seats.workers.push_back(member.worker);
    seats.hosts.push_back(member.host);
  }
  if (seats.rank < 0) {
    return std::nullopt;
  }
  return seats;
}

// The ranks that share the host of this one, in order of rank.
std::vector<std::size_t> neighbours(const GroupSeats& seats) {
  std::vector<std::size_t> found;
  const std::string& here = seats.hosts[static_cast<std::size_t>(seats.rank)];
  for (std::size_t rank = 0; rank < seats.hosts.size(); ++rank) {
    if (seats.hosts[rank] == here) {
      found.push_back(rank);
    }
  }
  return found;
}

}  // namespace

GroupBuilder::GroupBuilder(BuilderSetup setup, GroupInbox& inbox, Rendezvous& rendezvous)
    : setup_(std::move(setup)),
      inbox_(inbox),
      rendezvous_(rendezvous),
      thread_([this] { run(); }) {}

void GroupBuilder::run() {
  while (auto post = inbox_.take()) {
    const std::uint64_t number = post->number;
    auto group = build(std::move(*post));
    if (group) {
      inbox_.built(std::move(*group));
    } else if (!inbox_.has_newer_than(number)) {
      setup_.on_failure(number, group.error());
    }
  }
}

Status GroupBuilder::keep_arenas(GenerationPost& post) {
  for (ArenaPost& arrived : post.arenas) {
    auto arena = Arena::map(arrived.memory.get());
    if (!arena) {
      return arena.error();
    }
    arenas_[arrived.worker] = std::make_shared<Arena>(std::move(*arena));
  }
  std::erase_if(arenas_, [&](const auto& entry) {
    return std::ranges::none_of(
        post.members, [&](const MemberName& member) { return member.worker == entry.first; });
  });
  return ok_status();
}

Result<std::unique_ptr<Communicator>> GroupBuilder::join_across(const GenerationPost& post,
                                                                const GroupSeats& seats,
                                                                const ShmGroup& local) {
  if (!setup_.join_remote) {
    return Error{.code = ErrorCode::BadConfig,
                 .message = "members sit on several hosts, but this program has no way across"};
  }
  return setup_.join_remote({.generation = post.number,
                             .seats = seats,
                             .own = setup_.arena,
                             .join_host =
                                 [&local](const GroupPart& part) {
                                   ShmGroup group = local;
                                   group.note_length = part.note_length;
                                   return join_shm_group(std::move(group));
                                 }},
                            rendezvous_);
}

Result<BuiltGroup> GroupBuilder::build(GenerationPost post) {
  if (Status kept = keep_arenas(post); !kept) {
    return kept.error();
  }
  BuiltGroup built{.number = post.number, .is_last = post.members.empty()};
  auto seats = seats_of(setup_.worker, post);
  if (!seats) {
    return built;
  }
  const std::vector<std::size_t> here = neighbours(*seats);
  ShmGroup local{.meeting = post.meeting.get(), .cpus = setup_.cpus};
  for (const std::size_t rank : here) {
    const std::uint64_t worker = seats->workers[rank];
    if (worker == setup_.worker) {
      local.rank = static_cast<int>(local.arenas.size());
      local.arenas.push_back(setup_.arena);
    } else if (const auto found = arenas_.find(worker); found != arenas_.end()) {
      local.arenas.push_back(found->second);
    } else {
      return bad_input(fmt::format("the memory of worker {} was not handed over", worker));
    }
  }
  auto group = here.size() == seats->hosts.size() ? join_shm_group(std::move(local))
                                                  : join_across(post, *seats, local);
  if (!group) {
    return group.error();
  }
  built.communicator = std::move(*group);
  built.snapshot = std::make_shared<Descriptor>(std::move(post.snapshot));
  built.snapshot_bytes = post.snapshot_bytes;
  built.snapshot_step = post.snapshot_step;
  return built;
}

}  // namespace rubato
