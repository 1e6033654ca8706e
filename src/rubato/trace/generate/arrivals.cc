#include "rubato/trace/generate/arrivals.h"

#include <cmath>
#include <numbers>

namespace rubato {
namespace {

constexpr double kDay = 86400;
constexpr double kPeakOfDay = 15 * 3600;
constexpr double kSwing = 0.7;  // The rate goes from 1 - kSwing to 1 + kSwing of its mean.

// A tenth of the time is burst: 0.1 * 7 + 0.9 / 3 = 1, so that the mean rate stays what it was.
constexpr double kBurstRate = 7;
constexpr double kCalmRate = 1.0 / 3;
constexpr double kBurstGaps = 5;  // Mean length in mean gaps: 35 jobs.
constexpr double kCalmGaps = 45;  // 15 jobs.

}  // namespace

std::optional<ArrivalKind> parse_arrivals(std::string_view name) {
  for (const auto kind : {ArrivalKind::Poisson, ArrivalKind::Diurnal, ArrivalKind::Bursty}) {
    if (to_string(kind) == name) {
      return kind;
    }
  }
  return std::nullopt;
}

std::string_view to_string(ArrivalKind kind) {
  switch (kind) {
    case ArrivalKind::Poisson:
      return "poisson";
    case ArrivalKind::Diurnal:
      return "diurnal";
    case ArrivalKind::Bursty:
      return "bursty";
  }
  return "?";
}

Arrivals::Arrivals(ArrivalKind kind, double mean_gap, Random random)
    : kind_(kind), mean_gap_(mean_gap), random_(random) {}

double Arrivals::next() {
  switch (kind_) {
    case ArrivalKind::Poisson:
      now_ += random_.exponential(mean_gap_);
      return now_;
    case ArrivalKind::Diurnal:
      return next_diurnal();
    case ArrivalKind::Bursty:
      return next_bursty();
  }
  return now_;
}

// Thinning: candidates at the peak rate, each kept with the probability of its hour.
double Arrivals::next_diurnal() {
  for (;;) {
    now_ += random_.exponential(mean_gap_ / (1 + kSwing));
    const double angle = 2 * std::numbers::pi * (now_ - kPeakOfDay) / kDay;
    if (random_.chance((1 + kSwing * std::cos(angle)) / (1 + kSwing))) {
      return now_;
    }
  }
}

// A gap that would reach past the end of its phase is drawn anew from there: exponential gaps have
// no memory.
double Arrivals::next_bursty() {
  for (;;) {
    const double rate = is_burst_ ? kBurstRate : kCalmRate;
    const double arrival = now_ + random_.exponential(mean_gap_ / rate);
    if (arrival <= phase_end_) {
      now_ = arrival;
      return now_;
    }
    now_ = phase_end_;
    is_burst_ = !is_burst_;
    phase_end_ += random_.exponential(mean_gap_ * (is_burst_ ? kBurstGaps : kCalmGaps));
  }
}

}  // namespace rubato
