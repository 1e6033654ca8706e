#include "rubato/predict/resize_cost.h"

#include <algorithm>
#include <array>
#include <bit>

namespace rubato {
namespace {

constexpr int kLargeCluster = 256;  // GPUs from which the artifact charges its higher constants.

// Seconds, ElasticFlow (ASPLOS'23), figure 12: rescaling up and down within a node and across
// nodes, and moving eight workers.
struct ModelCost {
  std::string_view model;
  double grow_small;    // 1 to 2 workers.
  double shrink_small;  // 2 to 1.
  double grow_large;    // 8 to 16.
  double shrink_large;  // 16 to 8.
  double migrate;
};

constexpr std::array<ModelCost, 6> kModelCosts = {{
    {"resnet50", 1.884, 1.659, 1.666, 1.787, 0.887},
    {"vgg16", 1.820, 1.629, 2.407, 2.354, 3.209},
    {"inception3", 1.819, 1.099, 1.738, 1.733, 0.690},
    {"gpt2", 2.344, 3.101, 3.203, 3.198, 2.119},
    {"bert", 3.904, 2.611, 4.239, 4.222, 3.191},
    {"deepspeech2", 3.904, 2.611, 4.239, 4.222, 3.191},
}};

// For models nobody measured: the dearest of the measured ones.
constexpr ModelCost kOtherModel = {"", 3.904, 3.101, 4.239, 4.222, 3.209};

constexpr int kLargeShare = 8;  // From here on the costs measured across nodes apply.

const ModelCost& cost_of(std::string_view model) {
  const auto found = std::ranges::find(kModelCosts, model, &ModelCost::model);
  return found == kModelCosts.end() ? kOtherModel : *found;
}

}  // namespace

std::string_view to_string(ResizeCostModel accounting) {
  switch (accounting) {
    case ResizeCostModel::None:
      return "none";
    case ResizeCostModel::Artifact:
      return "artifact";
    case ResizeCostModel::Physical:
      return "physical";
  }
  return "?";
}

ResizeCost::ResizeCost(ResizeCostModel accounting, int cluster_gpus, Duration slot,
                       Duration restart)
    : accounting_(accounting),
      restart_(restart),
      is_large_(cluster_gpus >= kLargeCluster),
      rounds_between_restarts_(static_cast<int>(std::max(1.0, to_seconds(slot)))) {}

Duration ResizeCost::physical(const Job& job, const ShareChange& change) const {
  if (change.to == 0 || (change.from == change.to && !change.moved)) {
    return Duration{};
  }
  if (restart_ != kByModel) {
    return restart_;
  }
  const ModelCost& cost = cost_of(job.model);
  if (change.from == change.to) {
    return from_seconds(cost.migrate);
  }
  const bool large = std::max(change.from, change.to) > kLargeShare;
  const bool grows = change.to > change.from;
  const double seconds = grows ? (large ? cost.grow_large : cost.grow_small)
                               : (large ? cost.shrink_large : cost.shrink_small);
  return from_seconds(seconds);
}

Duration ResizeCost::artifact(int workers, bool known_set, bool restarts) const {
  const double base = is_large_ ? 7 : 2;
  if (known_set) {
    return from_seconds(base);
  }
  const double restart = restarts ? (is_large_ ? 47 : 27) : 0;
  const int log2 =
      static_cast<int>(std::bit_width(static_cast<unsigned>(std::max(1, workers)))) - 1;
  return from_seconds(base + restart + 2.0 * (log2 + 1));
}

}  // namespace rubato
