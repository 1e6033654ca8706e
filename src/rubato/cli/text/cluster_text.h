// Nodes, tenants, policies, what-ifs and the report, for people.
#pragma once

#include <string>

#include "rubato/spec/deadline_text.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

[[nodiscard]] std::string node_table(const wire::NodeList& list, const WallClock& clock);
[[nodiscard]] std::string tenant_table(const wire::TenantList& list);
[[nodiscard]] std::string policy_status_text(const wire::PolicyStatus& status);
/// `2 h earlier`, `does not end`; empty if it ends as now.
[[nodiscard]] std::string shift_text(const wire::WhatIfJob& job);
/// `kept -> at risk`: its promise, or without one its deadline.
[[nodiscard]] std::string met_text(const wire::WhatIfJob& job);
/// Each job that would finish at another time, then both worlds as a whole.
[[nodiscard]] std::string what_if_text(const wire::WhatIfReply& reply, const WallClock& clock);
/// Promises kept, GPU-hours, quotes against what happened.
[[nodiscard]] std::string report_text(const wire::ReportReply& report, const WallClock& clock);

}  // namespace rubato
