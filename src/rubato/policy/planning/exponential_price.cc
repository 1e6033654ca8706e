#include "rubato/policy/planning/exponential_price.h"

#include <cmath>

namespace rubato::policy::planning {

double PriceCurve::at(double part) const {
  if (form == Form::FromZero) {
    return high > 1 ? std::pow(high, part) - 1 : 0;
  }
  return low > 0 && high > 0 ? low * std::pow(high / low, part) : 0;
}

double PriceCurve::crowded(double price, double slots, int count, int capacity) const {
  const double base = form == Form::FromZero ? high : low > 0 ? high / low : 1;
  if (!(base > 1) || capacity <= 0) {
    return price * count;
  }
  // 1 + r + ... + r^(count-1), where each unit makes the next one dearer by the factor r.
  const double unit = std::log(base) / capacity;
  const double sum = std::expm1(unit * count) / std::expm1(unit);
  return form == Form::FromZero ? (price + slots) * sum - count * slots : price * sum;
}

}  // namespace rubato::policy::planning
