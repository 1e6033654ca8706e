#include "rubato/cli/policy/policy_markdown.h"

#include <string_view>

#include <fmt/core.h>

namespace rubato {
namespace {

constexpr std::string_view kIntro = R"(# Policies

Printed by `rubato policy list --markdown`; `make docs` writes it anew and a test compares the two.

A policy is chosen by name, with options after a colon: `--policy tiresias:thresholds=57600`. All of
them run on the same engine; `rubato sim --policy all` compares them on the same jobs, speeds and
resize costs ([tournament.md](tournament.md)).

*fidelity* says how true a policy is to its source. `exact`: all that the source specifies, as it
specifies it. `after <paper>`: the source leaves parts open or could be read only in part; the idea
is the paper's, the rest is ours. Every difference stands at the head of
`src/rubato/policy/<room>/<name>.h`.
To write one of your own see [new-policy.md](new-policy.md).

)";

// Text that stays within its cell.
std::string cell(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|' || c == '<') {
      safe += '\\';
    }
    safe += c == '\n' ? ' ' : c;
  }
  return safe;
}

std::string row(const PolicyInfo& info) {
  return fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", info.name, cell(info.objective),
                     cell(info.needs), cell(info.use_when), cell(info.options), cell(info.paper),
                     cell(info.fidelity));
}

}  // namespace

std::string policy_markdown(std::span<const PolicyInfo> policies) {
  std::string page(kIntro);
  page += "| policy | objective | needs | when to use it | options | paper | fidelity |\n";
  page += "|---|---|---|---|---|---|---|\n";
  for (const PolicyInfo& info : policies) {
    page += row(info);
  }
  return page;
}

}  // namespace rubato
