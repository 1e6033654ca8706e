#include "rubato/cli/text/why_text.h"

#include <fmt/format.h>

#include "rubato/cli/text/moment_text.h"
#include "rubato/cli/text/text_table.h"

namespace rubato {

std::string why_text(const wire::WhyReply& why) {
  std::string text = fmt::format(" {} {}", why.job(), why.standing());
  const bool is_held = !why.reason().empty() && why.reason() != "none";
  if (is_held) {
    text += fmt::format(": {}", why.reason());
  }
  text += "\n";
  if (!why.binding().empty()) {
    text += fmt::format("    {}{}\n", is_held ? "held back by: " : "", why.binding());
  }
  if (!why.remedy().empty()) {
    text += fmt::format("    would change if: {}\n", why.remedy());
  }
  return text;
}

std::string blame_text(const wire::BlameReply& blame, const WallClock& clock) {
  if (blame.entries().empty()) {
    return "nobody has changed its workers\n";
  }
  TextTable table({"WHEN", ">WORKERS", "CAUSE", "BY"});
  for (const wire::BlameEntry& entry : blame.entries()) {
    table.add({moment_text(entry.at(), clock),
               fmt::format("{} -> {}", entry.workers_before(), entry.workers_after()),
               entry.cause(), entry.caused_by()});
  }
  return table.text();
}

std::string event_text(const wire::EventRecord& event, const WallClock& clock) {
  std::string text = fmt::format("{:>6}  {}  {:<14}", event.sequence(),
                                 moment_text(event.at(), clock), event.type());
  if (!event.job().empty()) {
    text += fmt::format("  job {}", event.job());
  }
  if (!event.node().empty()) {
    text += fmt::format("  node {}", event.node());
  }
  if (!event.message().empty()) {
    text += fmt::format("  {}", event.message());
  }
  text += "\n";
  for (const std::string& remedy : event.remedies()) {
    text += fmt::format("        would help: {}\n", remedy);
  }
  return text;
}

}  // namespace rubato
