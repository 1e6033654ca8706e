#include "rubato/policy/registry.h"

#include <array>
#include <vector>

#include <fmt/core.h>

#include "rubato/base/spelling.h"
#include "rubato/policy/backfill.h"
#include "rubato/policy/edf.h"
#include "rubato/policy/edf_ac.h"
#include "rubato/policy/elasticflow.h"
#include "rubato/policy/elasticflow_artifact.h"
#include "rubato/policy/fifo.h"
#include "rubato/policy/srtf.h"
#include "rubato/policy/tiresias.h"

namespace rubato {
namespace {

constexpr std::array kPolicies = {
    PolicyInfo{.name = "backfill",
               .paper = "Mu'alem and Feitelson, TPDS 2001",
               .fidelity = "conservative variant; reservations made anew at each round",
               .objective = "order of arrival without idle gaps",
               .needs = "requested GPUs, run time",
               .options = "depth=10000 (jobs in line)",
               .make = make_backfill},
    PolicyInfo{.name = "edf",
               .paper = "ElasticFlow, ASPLOS'23, section 6.1 (baseline)",
               .fidelity = "as the paper describes it: capped at the speed peak",
               .objective = "earliest deadline first",
               .needs = "speed curve, deadline",
               .options = "",
               .make = make_edf},
    PolicyInfo{.name = "edf-ac",
               .paper = "ElasticFlow, ASPLOS'23, section 6.4 (baseline)",
               .fidelity = "capped at the speed peak; pauses planned, promises kept",
               .objective = "deadlines met, earliest first",
               .needs = "speed curve, deadline",
               .options = "",
               .make = make_edf_ac},
    PolicyInfo{.name = "elasticflow",
               .paper = "ElasticFlow, ASPLOS'23",
               .fidelity = "after the paper; pauses planned, promises kept",
               .objective = "deadlines met, least GPU time",
               .needs = "speed curve, deadline",
               .options = "replans=20000 (plans made anew per slot at most)",
               .make = make_elasticflow},
    PolicyInfo{.name = "elasticflow-artifact",
               .paper = "ElasticFlow, ASPLOS'23 (published simulator)",
               .fidelity = "as the artifact behaves, defects included",
               .objective = "deadlines met, least GPU time",
               .needs = "speed curve, deadline",
               .options = "",
               .make = make_elasticflow_artifact},
    PolicyInfo{.name = "fifo",
               .paper = "folklore",
               .fidelity = "exact",
               .objective = "order of arrival",
               .needs = "requested GPUs",
               .options = "",
               .make = make_fifo},
    PolicyInfo{.name = "srtf",
               .paper = "folklore",
               .fidelity = "exact",
               .objective = "mean completion time, run times known",
               .needs = "requested GPUs, run time",
               .options = "",
               .make = make_srtf},
    PolicyInfo{
        .name = "tiresias",
        .paper = "Tiresias, NSDI'19",
        .fidelity = "as in the simulator published with ElasticFlow",
        .objective = "mean completion time, run times unknown",
        .needs = "requested GPUs",
        .options = "thresholds=3250/7200 (GPU-s), falls=artifact|prompt, gittins=off, knob=0",
        .make = make_tiresias},
};

}  // namespace

std::span<const PolicyInfo> all_policies() { return kPolicies; }

Result<std::unique_ptr<Policy>> make_policy(std::string_view name_and_options) {
  const std::size_t colon = name_and_options.find(':');
  const std::string_view name = name_and_options.substr(0, colon);
  std::vector<std::string_view> names;
  for (const PolicyInfo& info : all_policies()) {
    if (info.name == name) {
      const auto options = PolicyOptions::parse(colon == std::string_view::npos
                                                    ? std::string_view{}
                                                    : name_and_options.substr(colon + 1));
      return options ? info.make(*options) : Result<std::unique_ptr<Policy>>(options.error());
    }
    names.push_back(info.name);
  }
  return Error{.code = ErrorCode::NotFound,
               .message = fmt::format("unknown policy '{}'{}", name, suggestion(name, names))};
}

}  // namespace rubato
