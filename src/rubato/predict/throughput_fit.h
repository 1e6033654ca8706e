// From observed step times to a throughput model.
#pragma once

#include <span>

#include "rubato/core/event.h"
#include "rubato/predict/goodput.h"

namespace rubato {

/// The model that explains the observations best (at least one), by the loss of Pollux: root mean
/// squares of the logarithmic errors of passes and steps, and a small pull towards models that
/// scale well. What was never seen stays optimistic: exchange is free until there are two workers,
/// across nodes it is a tenth dearer than inside one, and until two local batches were seen half of
/// a pass is taken to be constant.
///
/// Difference from Pollux's fit, which uses scipy's L-BFGS-B from the same start: quasi-Newton in
/// the logarithms of the constants, so where few observations leave the model open it may be
/// another one that explains them as well.
[[nodiscard]] ThroughputModel fit_throughput(std::span<const StepObservation> observations);

}  // namespace rubato
