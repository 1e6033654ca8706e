// What users may set, and how the policy presents itself.
#include <array>
#include <string_view>

#include "rubato/policy/elasticflow/elasticflow.h"

namespace rubato::policy::elasticflow {

Result<std::unique_ptr<Policy>> make_elasticflow(const PolicyOptions& options) {
  constexpr std::array<std::string_view, 3> kKnown = {"replans", "grace", "grace_min"};
  if (auto known = options.only(kKnown); !known) {
    return known.error();
  }
  ElasticFlowOptions parsed;
  const auto replans =
      options.number("replans", static_cast<double>(parsed.replans_per_slot), 0, 1e12);
  if (!replans) {
    return replans.error();
  }
  parsed.replans_per_slot = static_cast<long>(*replans);
  const auto part = options.number("grace", parsed.grace, 0, 1);
  const auto least = options.number("grace_min", to_seconds(parsed.grace_min), 0, 1e9);
  if (!part || !least) {
    return !part ? part.error() : least.error();
  }
  parsed.grace = *part;
  parsed.grace_min = from_seconds(*least);
  return std::unique_ptr<Policy>(std::make_unique<ElasticFlow>(parsed));
}

PolicyInfo elasticflow_policy() {
  return {.name = "elasticflow",
          .paper = "ElasticFlow, ASPLOS'23",
          .fidelity = "after the paper; pauses planned, promises kept",
          .objective = "deadlines met, least GPU time",
          .needs = "speed curve, deadline",
          .use_when = "deadlines matter; the default",
          .options =
              "replans=20000 (plans made anew per slot at most), grace=0 and grace_min=0 (part "
              "of the time to its deadline, and seconds, that a job which falls behind may "
              "end later)",
          .make = make_elasticflow};
}

}  // namespace rubato::policy::elasticflow
