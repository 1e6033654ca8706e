// One measured speed, as it stands in a table.
#pragma once

#include <optional>
#include <string>

#include "rubato/core/placement.h"
#include "rubato/core/scaling_curve.h"

namespace rubato {

/// One measurement: steps per second of a model at a batch size on a number of GPUs.
struct SpeedRow {
  std::string gpu_type{};
  std::string model{};
  int batch = 0;
  int gpus = 0;
  double speed = 0;
  Provenance provenance = Provenance::Measured;
  std::optional<Locality> span{};  // Placement it was measured at; without one it holds for all.
};

}  // namespace rubato
