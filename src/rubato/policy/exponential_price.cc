#include "rubato/policy/exponential_price.h"

#include <cmath>

namespace rubato {

double PriceCurve::at(double part) const {
  if (form == Form::FromZero) {
    return high > 1 ? std::pow(high, part) - 1 : 0;
  }
  return low > 0 && high > 0 ? low * std::pow(high / low, part) : 0;
}

}  // namespace rubato
