// The files of one measured application: step times by GPU type, and how its trainings went.
//
// placements-<type>.csv and scalability-<type>.csv hold for one GPU type, as in the artifact of Sia
// (SOSP'23); placements.csv and scalability.csv for all types without files of their own. The
// scalability files may be absent. validation-<batch>.csv hold for every type. The pure parsing is
// predict/profile_rows.h.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/predict/application_profile.h"

namespace rubato {

struct MeasuredApplication {
  std::map<std::string, ApplicationProfile> by_type{};  // Of the types asked for; at least one.
  std::vector<std::string> notes{};  // Types without files of their own, where there are several.
};

/// Fails if a file is wrong, or if there is none for any of the types.
[[nodiscard]] Result<MeasuredApplication> read_application(const std::string& folder,
                                                           std::span<const std::string> types);

/// The names in a folder, sorted.
[[nodiscard]] Result<std::vector<std::string>> names_in(const std::string& directory);

/// What the simulator that the public profiles come from does not permit although it was measured;
/// the files do not say so.
struct KnownLimit {
  std::string_view application;
  int local_max = 0;    // Samples that a worker takes at a time; 0: as many as were measured.
  int workers_max = 0;  // Of jobs that did not ask for more; 0: as many as were measured.
};

[[nodiscard]] KnownLimit known_limit(std::string_view application);

}  // namespace rubato
