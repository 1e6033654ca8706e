#include "rubato/core/value.h"

#include <algorithm>
#include <cmath>

namespace rubato {

double ValueFunction::at(Duration latency) const {
  switch (kind) {
    case ValueKind::Constant:
      return amount;
    case ValueKind::Steps: {
      const auto step = std::ranges::find_if(
          steps, [latency](const ValueStep& each) { return latency <= each.within; });
      return step == steps.end() ? 0.0 : step->amount;
    }
    case ValueKind::Sigmoid:
      return amount / (1.0 + std::exp(decay * to_seconds(latency - knee)));
    case ValueKind::LinearAfterDeadline:
      return latency <= knee ? amount : std::max(0.0, amount - decay * to_seconds(latency - knee));
  }
  return 0;
}

}  // namespace rubato
