// Names of the fields of `rubato-trace/2`, our own trace format: shared by its reader and writer.
//
// JSON Lines: a header object, then one object for each job. docs/traces.md is the specification;
// a field may be added only with a new version number, since readers refuse unknown fields.
#pragma once

#include <array>
#include <string_view>

namespace rubato {

inline constexpr std::string_view kRubatoTraceFormat = "rubato-trace/2";
/// The same without `region`, `data_gb` and `speeds`; still read.
inline constexpr std::string_view kRubatoTraceOldFormat = "rubato-trace/1";

inline constexpr std::array<std::string_view, 4> kHeaderFields{"format", "source", "seed", "jobs"};

inline constexpr std::array<std::string_view, 18> kJobFields{
    "id",       "name",   "tenant",  "class",     "arrival",  "deadline",
    "work",     "model",  "batch",   "requested", "duration", "workers",
    "gpu_type", "region", "data_gb", "weight",    "value",    "speeds"};

inline constexpr std::array<std::string_view, 3> kWorkersFields{"min", "max", "listed"};

inline constexpr std::array<std::string_view, 5> kValueFields{"kind", "amount", "decay", "knee",
                                                              "steps"};

inline constexpr std::array<std::string_view, 2> kStepFields{"within", "amount"};

inline constexpr std::array<std::string_view, 3> kClassWords{"slo", "soft", "best_effort"};

/// In the order of ValueKind.
inline constexpr std::array<std::string_view, 4> kValueKindWords{"constant", "steps", "sigmoid",
                                                                 "linear_after_deadline"};

}  // namespace rubato
