#include "rubato/runtime/machine/blas_check.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "rubato/base/check.h"
#include "rubato/base/parse.h"

namespace rubato {
namespace {

using Flags = std::set<std::string_view>;

constexpr std::array<std::string_view, 5> kSkylakeFlags = {"avx512f", "avx512bw", "avx512cd",
                                                           "avx512dq", "avx512vl"};
constexpr std::array<std::string_view, 4> kHaswellFlags = {"avx2", "fma", "bmi1", "bmi2"};
constexpr std::array<std::string_view, 1> kSandybridgeFlags = {"avx"};

// What all processors have in common.
struct Processors {
  Flags flags{};
  std::string_view vendor{};
  bool is_known = false;
};

// The next line, without its end; the text moves behind it.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

Flags words_of(std::string_view text) {
  Flags words;
  while (!(text = trimmed(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.insert(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

Processors read_processors(std::string_view cpuinfo) {
  Processors found;
  while (!cpuinfo.empty()) {
    const std::string_view line = take_line(cpuinfo);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    const std::string_view key = trimmed(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (key == "vendor_id") {
      found.vendor = value;
    } else if (key == "flags" && !found.is_known) {
      found.flags = words_of(value);
      found.is_known = true;
    } else if (key == "flags") {
      const Flags here = words_of(value);
      std::erase_if(found.flags, [&](std::string_view flag) { return !here.contains(flag); });
    }
  }
  return found;
}

bool has_all(const Flags& flags, std::span<const std::string_view> wanted) {
  return std::ranges::all_of(wanted, [&](std::string_view flag) { return flags.contains(flag); });
}

// What a variable is set to, if it is.
std::optional<std::string_view> value_of(std::span<const std::string_view> environment,
                                         std::string_view name) {
  for (const std::string_view entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

// Sets a variable unless the user has; returns the value in force.
std::string set_unless_given(BlasSettings& settings, std::span<const std::string_view> environment,
                             const WorkerVariable& variable) {
  if (const auto given = value_of(environment, variable.name)) {
    settings.remarks.push_back(fmt::format("{} is '{}', as you set it", variable.name, *given));
    return std::string(*given);
  }
  settings.variables.push_back(variable);
  return variable.value;
}

}  // namespace

std::string_view openblas_core_type(std::string_view cpuinfo) {
  const Processors processors = read_processors(cpuinfo);
  const bool runs_haswell = has_all(processors.flags, kHaswellFlags);
  if (runs_haswell && has_all(processors.flags, kSkylakeFlags)) {
    return "SkylakeX";
  }
  if (runs_haswell) {
    const bool is_amd = processors.vendor == "AuthenticAMD" || processors.vendor == "HygonGenuine";
    return is_amd ? "Zen" : "Haswell";
  }
  return has_all(processors.flags, kSandybridgeFlags) ? "Sandybridge" : "";
}

BlasSettings blas_settings(std::string_view cpuinfo, std::span<const std::string_view> environment,
                           int threads) {
  RUBATO_CHECK(threads >= 1);
  BlasSettings settings;
  const std::string_view core_type = openblas_core_type(cpuinfo);
  if (core_type.empty()) {
    settings.remarks.emplace_back(
        "OPENBLAS_CORETYPE is left to OpenBLAS: the processor's flags "
        "name no kernels of ours");
  } else {
    set_unless_given(settings, environment,
                     {.name = "OPENBLAS_CORETYPE", .value = std::string(core_type)});
  }
  // OpenBLAS follows OMP_NUM_THREADS if it has no number of its own: what the user gave for one
  // holds for both.
  const std::string in_force = set_unless_given(
      settings, environment, {.name = "OMP_NUM_THREADS", .value = std::to_string(threads)});
  set_unless_given(settings, environment, {.name = "OPENBLAS_NUM_THREADS", .value = in_force});
  return settings;
}

}  // namespace rubato
