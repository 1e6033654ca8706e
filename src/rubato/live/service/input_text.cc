#include "rubato/live/service/input_text.h"

#include <fmt/core.h>

namespace rubato {
namespace {

std::string node_request_text(const wire::NodeRequested& asked) {
  const char* what = "changed";
  if (asked.request().drain()) {
    what = "drained";
  } else if (asked.request().resume()) {
    what = "resumed";
  } else if (asked.request().has_maintenance()) {
    what = "given a maintenance window";
  }
  return fmt::format("node {} was {} by {}", asked.node(), what, asked.user());
}

std::string policy_text(const wire::PolicySet& set) {
  const std::string& name = set.is_shadow() && set.policy().empty() ? set.shadow() : set.policy();
  return fmt::format("the {} policy was set to {} by {}", set.is_shadow() ? "shadow" : "live", name,
                     set.user());
}

}  // namespace

std::string input_text(const wire::JournalInput& input) {
  switch (input.kind_case()) {
    case wire::JournalInput::kSubmitted:
      return fmt::format("job {} was submitted by {}", input.submitted().job(),
                         input.submitted().user());
    case wire::JournalInput::kCancelled:
      return fmt::format("job {} was cancelled by {}", input.cancelled().job(),
                         input.cancelled().user());
    case wire::JournalInput::kScaled:
      return fmt::format("job {} was scaled by {}", input.scaled().job(), input.scaled().user());
    case wire::JournalInput::kHello:
      return fmt::format("agent {} said hello", input.hello().agent());
    case wire::JournalInput::kReport:
      return fmt::format("job {} reported step {:.0f}", input.report().job(),
                         input.report().done());
    case wire::JournalInput::kHeld:
      return fmt::format("job {} holds {} slots", input.held().job(), input.held().slots_size());
    case wire::JournalInput::kEnded:
      return fmt::format("job {} stopped: {}", input.ended().job(), input.ended().outcome());
    case wire::JournalInput::kNode:
      return fmt::format("node {} is {}: {}", input.node().node(),
                         input.node().up() ? "up" : "down", input.node().reason());
    case wire::JournalInput::kNodeRequest:
      return node_request_text(input.node_request());
    case wire::JournalInput::kTenant:
      return fmt::format("tenant {} was set by {}", input.tenant().tenant().name(),
                         input.tenant().user());
    case wire::JournalInput::kPolicy:
      return policy_text(input.policy());
    case wire::JournalInput::kWoken:
      return "a planned moment came";
    default:
      return "something else happened";
  }
}

}  // namespace rubato
