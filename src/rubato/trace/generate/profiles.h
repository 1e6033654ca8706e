// Sizes and run times of generated jobs, after the public traces; docs/traces.md has the sources.
#pragma once

#include <span>
#include <string_view>

#include "rubato/trace/generate/duration_curve.h"

namespace rubato {

/// `share` of the jobs ask for `gpus` and run that long on them.
struct SizeShare {
  int gpus = 1;
  double share = 0;
  std::span<const DurationPoint> durations{};
};

struct Profile {
  std::string_view name{};
  std::string_view source{};
  std::span<const SizeShare> sizes{};  // Rising in GPUs; the shares add up to one.
};

[[nodiscard]] std::span<const Profile> generator_profiles();

/// Null if there is none of that name.
[[nodiscard]] const Profile* find_profile(std::string_view name);

}  // namespace rubato
