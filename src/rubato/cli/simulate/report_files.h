// The pictures of a comparison, written to files.
#pragma once

#include <span>
#include <string>

#include "rubato/base/result.h"
#include "rubato/core/topology.h"
#include "rubato/report/report.h"

namespace rubato {

/// Paths; an empty one is not wanted.
struct PictureFiles {
  std::string html{};
  std::string perfetto{};
  bool is_tournament = false;  // Tells policies apart rather than showing what each did.
};

[[nodiscard]] Status write_pictures(const ReportHeader& header, std::span<const RunGroup> groups,
                                    const Topology& topology, const PictureFiles& files);

}  // namespace rubato
