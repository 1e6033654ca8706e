#include "rubato/runtime/group/gloo_across.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "rubato/runtime/group/gloo_communicator.h"
#include "rubato/runtime/group/host_groups.h"
#include "rubato/runtime/group/reaper.h"

namespace rubato {
namespace {

// Hosts as numbers, in order of their first rank.
std::vector<int> numbered(const std::vector<std::string>& hosts) {
  std::map<std::string, int> numbers;
  std::vector<int> found;
  for (const std::string& host : hosts) {
    found.push_back(numbers.emplace(host, static_cast<int>(numbers.size())).first->second);
  }
  return found;
}

}  // namespace

RemoteJoin gloo_across(std::string address, Duration patience) {
  // Shared by all groups of this worker, as they follow each other.
  auto reaper = std::make_shared<Reaper>();
  return [address = std::move(address), patience, reaper = std::move(reaper)](
             RemoteGroup group, Rendezvous& rendezvous) {
    const auto join_gloo = [&](const GroupPart& part) {
      return join_gloo_group({.rank = part.rank,
                              .size = static_cast<int>(part.members.size()),
                              .name = fmt::format("generation-{}", group.generation),
                              .address = address,
                              .patience = patience,
                              .arena = group.own,
                              .note_length = part.note_length,
                              .reaper = reaper},
                             rendezvous);
    };
    return join_host_groups({.rank = group.seats.rank,
                             .hosts = numbered(group.seats.hosts),
                             .arena = group.own,
                             .join_host = group.join_host,
                             .join_across = join_gloo});
  };
}

}  // namespace rubato
