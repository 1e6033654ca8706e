#include "rubato/place/registry/placer_registry.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/core.h>

#include "rubato/base/spelling.h"
#include "rubato/place/buddy/buddy_placer.h"
#include "rubato/place/hived/hived_placer.h"

namespace rubato {
namespace {

constexpr std::array<PlacerInfo, 2> kPlacers = {{
    {.name = "buddy", .summary = "close together, moving others out of the way"},
    {.name = "hived",
     .summary = "each tenant on cells of its own, others on what is idle",
     .options = "vc=TENANT:COUNTxGPUS[+...][/...] (cells)"},
}};

Result<std::unique_ptr<Placer>> make_hived(std::string_view options, const Topology& topology,
                                           std::span<const TenantPart> tenants) {
  constexpr std::string_view kKey = "vc=";
  if (!options.empty() && !options.starts_with(kKey)) {
    return bad_input(fmt::format("placer hived: expected vc=..., found '{}'", options));
  }
  std::vector<VirtualCluster> clusters;
  if (!options.empty()) {
    auto parsed = parse_clusters(options.substr(kKey.size()), topology);
    if (!parsed) {
      return parsed.error();
    }
    clusters = *std::move(parsed);
  } else {
    static const TenantPart kEverybody{.name = "", .share = 1};
    clusters = clusters_by_share(tenants.empty() ? std::span(&kEverybody, 1) : tenants, topology);
  }
  if (Status fits = check_clusters(clusters, topology); !fits) {
    return fits.error();
  }
  return std::unique_ptr<Placer>(std::make_unique<HivedPlacer>(topology, clusters));
}

}  // namespace

std::span<const PlacerInfo> all_placers() { return kPlacers; }

Result<std::unique_ptr<Placer>> make_placer(std::string_view name_and_options,
                                            const Topology& topology,
                                            std::span<const TenantPart> tenants) {
  const std::size_t colon = std::min(name_and_options.find(':'), name_and_options.size());
  const std::string_view name = name_and_options.substr(0, colon);
  const std::string_view options =
      name_and_options.substr(std::min(colon + 1, name_and_options.size()));
  if (name == "hived") {
    return make_hived(options, topology, tenants);
  }
  if (name == "buddy" && options.empty()) {
    return std::unique_ptr<Placer>(std::make_unique<BuddyPlacer>(topology));
  }
  std::vector<std::string_view> names;
  for (const PlacerInfo& info : kPlacers) {
    names.push_back(info.name);
  }
  return name == "buddy"
             ? bad_input(fmt::format("placer buddy takes no options, found '{}'", options))
             : Error{
                   .code = ErrorCode::NotFound,
                   .message = fmt::format("unknown placer '{}'{}", name, suggestion(name, names))};
}

}  // namespace rubato
