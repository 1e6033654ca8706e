// Posted prices that rise exponentially with use: low while there is room, prohibitive when full.
//
// Two forms. OASiS (INFOCOM'18) and DPS (TMC'22) let the price run from `low` to `high`; A_online
// (MobiHoc'20) and Astraea (TC'22) let it run from nothing to theta - 1.
#pragma once

namespace rubato::policy::planning {

/// Price of one unit for one slot, as a function of the part of the capacity in use.
struct PriceCurve {
  enum class Form {
    LowToHigh,  // low * (high / low)^part
    FromZero,   // theta^part - 1
  };

  Form form = Form::LowToHigh;
  double low = 0;   // Not used by FromZero.
  double high = 0;  // FromZero: theta.

  /// `part` in [0, 1]. Without a range (low or high not positive) everything is free.
  [[nodiscard]] double at(double part) const;

  /// What `count` units cost that are taken one after another, each at the price that those before
  /// it leave behind, if one unit at the present price costs `price` for a time of `slots` slots.
  [[nodiscard]] double crowded(double price, double slots, int count, int capacity) const;

  friend bool operator==(const PriceCurve&, const PriceCurve&) = default;
};

[[nodiscard]] inline PriceCurve low_to_high(double low, double high) {
  return PriceCurve{.form = PriceCurve::Form::LowToHigh, .low = low, .high = high};
}

[[nodiscard]] inline PriceCurve from_zero(double theta) {
  return PriceCurve{.form = PriceCurve::Form::FromZero, .high = theta};
}

}  // namespace rubato::policy::planning
