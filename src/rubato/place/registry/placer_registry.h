// The names of all placers: what `--placer` accepts.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/place/hived/virtual_cluster.h"
#include "rubato/place/placer.h"

namespace rubato {

/// What readers know about a placer without running it.
struct PlacerInfo {
  std::string_view name;
  std::string_view summary;    // One clause.
  std::string_view options{};  // Empty if it takes none.
};

inline constexpr std::string_view kPlacerByDefault = "buddy";

/// In the order of their names.
[[nodiscard]] std::span<const PlacerInfo> all_placers();

/// `buddy`, or `hived:vc=research:2x8/products:1x8` (see parse_clusters). Without `vc` the virtual
/// clusters of `hived` follow the tenants' parts, and without tenants all share one. The error
/// names what is wrong, with the nearest spelling.
[[nodiscard]] Result<std::unique_ptr<Placer>> make_placer(std::string_view name_and_options,
                                                          const Topology& topology,
                                                          std::span<const TenantPart> tenants);

}  // namespace rubato
