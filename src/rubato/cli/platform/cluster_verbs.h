// Verbs on the platform as a whole: queue, node, report, what-if, and the policy that decides.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

void add_cluster_verbs(CLI::App& app, int& exit_code);

/// `policy status`, `set` and `shadow`, below the verb `policy`.
void add_live_policy_verbs(CLI::App& policy, int& exit_code);

}  // namespace rubato
