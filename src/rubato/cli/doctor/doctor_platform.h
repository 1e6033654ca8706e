// Does a running platform answer, and is it well? And if there is none, could one start?
#pragma once

#include "rubato/cli/client/client_flags.h"
#include "rubato/cli/doctor/doctor_finding.h"

namespace rubato {

/// Asks the server that the flags name. `is_named`: somebody has said that there is one.
[[nodiscard]] DoctorFindings examine_platform(const ClientFlags& flags, bool is_named);

}  // namespace rubato
