#include "rubato/trace/generate/profiles.h"

#include <algorithm>
#include <array>

namespace rubato {
namespace {

// 60 * 10^U(1, 2.5) seconds for 80% of the jobs, 60 * 10^U(2.5, 4) for the rest.
constexpr std::array kElasticFlowDurations{
    DurationPoint{0, 600}, DurationPoint{0.8, 18973.665961010276}, DurationPoint{1, 600000}};

constexpr std::array kElasticFlowSizes{
    SizeShare{1, 0.83, kElasticFlowDurations}, SizeShare{2, 0.03, kElasticFlowDurations},
    SizeShare{4, 0.03, kElasticFlowDurations}, SizeShare{8, 0.10, kElasticFlowDurations},
    SizeShare{16, 0.01, kElasticFlowDurations}};

// Quantiles measured on the 82,247 rows of Pollux's extract of the Philly log, by GPU count.
constexpr std::array kPhilly1{DurationPoint{0, 5},          DurationPoint{0.05, 52},
                              DurationPoint{0.25, 122},     DurationPoint{0.5, 1117},
                              DurationPoint{0.75, 2716},    DurationPoint{0.9, 8512},
                              DurationPoint{0.97, 44229},   DurationPoint{0.99, 135386},
                              DurationPoint{0.999, 863786}, DurationPoint{1, 3256045}};
constexpr std::array kPhilly2{DurationPoint{0, 5},           DurationPoint{0.05, 9},
                              DurationPoint{0.25, 16},       DurationPoint{0.5, 21},
                              DurationPoint{0.75, 76},       DurationPoint{0.9, 72361},
                              DurationPoint{0.97, 266440},   DurationPoint{0.99, 510066},
                              DurationPoint{0.999, 1463703}, DurationPoint{1, 2582803}};
constexpr std::array kPhilly4{DurationPoint{0, 5},           DurationPoint{0.05, 75},
                              DurationPoint{0.25, 772},      DurationPoint{0.5, 17388},
                              DurationPoint{0.75, 89311},    DurationPoint{0.9, 184426},
                              DurationPoint{0.97, 449318},   DurationPoint{0.99, 906798},
                              DurationPoint{0.999, 2416865}, DurationPoint{1, 2750674}};
constexpr std::array kPhilly8{DurationPoint{0, 5},           DurationPoint{0.05, 125},
                              DurationPoint{0.25, 1871},     DurationPoint{0.5, 23683},
                              DurationPoint{0.75, 173209},   DurationPoint{0.9, 350272},
                              DurationPoint{0.97, 661299},   DurationPoint{0.99, 1051666},
                              DurationPoint{0.999, 2655194}, DurationPoint{1, 4628226}};
constexpr std::array kPhillyWide{DurationPoint{0, 5},           DurationPoint{0.05, 35},
                                 DurationPoint{0.25, 566},      DurationPoint{0.5, 21137},
                                 DurationPoint{0.75, 104218},   DurationPoint{0.9, 246825},
                                 DurationPoint{0.97, 511238},   DurationPoint{0.99, 891298},
                                 DurationPoint{0.999, 1369876}, DurationPoint{1, 1710643}};

constexpr std::array kPhillySizes{
    SizeShare{1, 0.9317, kPhilly1},     SizeShare{2, 0.0221, kPhilly2},
    SizeShare{4, 0.0227, kPhilly4},     SizeShare{8, 0.02, kPhilly8},
    SizeShare{16, 0.0025, kPhillyWide}, SizeShare{32, 0.001, kPhillyWide}};

// Median, mean and longest as published; the points between are ours, set so that the mean fits.
constexpr std::array kHeliosDurations{DurationPoint{0, 5},          DurationPoint{0.25, 40},
                                      DurationPoint{0.5, 206},      DurationPoint{0.75, 1500},
                                      DurationPoint{0.9, 6000},     DurationPoint{0.99, 80000},
                                      DurationPoint{0.999, 400000}, DurationPoint{1, 4320000}};

// Shares are ours, set so that most jobs are single-GPU ones and the mean is the published 3.72.
constexpr std::array kHeliosSizes{
    SizeShare{1, 0.60, kHeliosDurations},  SizeShare{2, 0.08, kHeliosDurations},
    SizeShare{4, 0.12, kHeliosDurations},  SizeShare{8, 0.15, kHeliosDurations},
    SizeShare{16, 0.03, kHeliosDurations}, SizeShare{32, 0.015, kHeliosDurations},
    SizeShare{64, 0.005, kHeliosDurations}};

// Median 23 minutes and 90th percentile 4.5 hours as published; the rest is ours.
constexpr std::array kPaiDurations{DurationPoint{0, 5},          DurationPoint{0.25, 240},
                                   DurationPoint{0.5, 1380},     DurationPoint{0.75, 5400},
                                   DurationPoint{0.9, 16200},    DurationPoint{0.99, 86400},
                                   DurationPoint{0.999, 345600}, DurationPoint{1, 1728000}};

constexpr std::array kPaiSizes{
    SizeShare{1, 0.75, kPaiDurations},   SizeShare{2, 0.10, kPaiDurations},
    SizeShare{4, 0.06, kPaiDurations},   SizeShare{8, 0.05, kPaiDurations},
    SizeShare{16, 0.02, kPaiDurations},  SizeShare{32, 0.01, kPaiDurations},
    SizeShare{64, 0.006, kPaiDurations}, SizeShare{128, 0.004, kPaiDurations}};

constexpr std::array kProfiles{
    Profile{"elasticflow", "generator of the ElasticFlow artifact (ASPLOS'23)", kElasticFlowSizes},
    Profile{"philly", "Philly log (ATC'19), as extracted for Pollux (OSDI'21)", kPhillySizes},
    Profile{"helios", "summary figures of the Helios study (SC'21)", kHeliosSizes},
    Profile{"pai", "summary figures of the PAI study (NSDI'22)", kPaiSizes}};

}  // namespace

std::span<const Profile> generator_profiles() { return kProfiles; }

const Profile* find_profile(std::string_view name) {
  const auto found = std::ranges::find(kProfiles, name, &Profile::name);
  return found == kProfiles.end() ? nullptr : &*found;
}

}  // namespace rubato
