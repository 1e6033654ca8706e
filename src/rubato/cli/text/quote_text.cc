#include "rubato/cli/text/quote_text.h"

#include <fmt/format.h>

#include "rubato/cli/text/moment_text.h"

namespace rubato {
namespace {

constexpr int kPlanShownMax = 12;

// `16:50-17:25 (9 of 10 jobs end in such a band)`, or the one moment that is known.
std::string finish_text(const wire::QuoteReply& quote, const WallClock& clock) {
  if (quote.has_finish_early() && quote.has_finish_late()) {
    return fmt::format("finish {} to {} (9 of 10)", moment_text(quote.finish_early(), clock),
                       moment_text(quote.finish_late(), clock));
  }
  return quote.has_finish() ? fmt::format("finish {}", moment_text(quote.finish(), clock))
                            : "finish unknown";
}

std::string record_text(const wire::QuoteReply& quote) {
  if (quote.promises_made() == 0) {
    return "none yet: no promise has come due";
  }
  return fmt::format("{:.0f} % of {} promises kept, median error of quotes {:.1f} %",
                     100 * quote.promises_kept_ratio(), quote.promises_made(),
                     100 * quote.median_error_ratio());
}

std::string offer_line(const wire::CounterOffer& offer, const WallClock& clock) {
  if (offer.kind() == "later_deadline") {
    return fmt::format("--deadline {}", deadline_flag_text(instant_from(offer.deadline()), clock));
  }
  if (offer.kind() == "best_effort") {
    return "--class best_effort   (no promise)";
  }
  if (offer.kind() == "more_gpus") {
    return fmt::format("the same deadline, if the cluster had {} more GPUs", offer.gpus());
  }
  return offer.kind();
}

}  // namespace

std::string plan_text(const google::protobuf::RepeatedPtrField<wire::PlannedShare>& plan) {
  std::string text;
  int shown = 0;
  int before = -1;
  for (const wire::PlannedShare& share : plan) {
    if (share.workers() == before) {
      continue;
    }
    before = share.workers();
    if (++shown > kPlanShownMax) {
      return text + " -> ...";
    }
    text += fmt::format("{}{}", text.empty() ? "" : " -> ", before);
  }
  return text;
}

std::string offers_text(const google::protobuf::RepeatedPtrField<wire::CounterOffer>& offers,
                        const WallClock& clock) {
  std::string text;
  for (const wire::CounterOffer& offer : offers) {
    text += fmt::format("   {}\n", offer_line(offer, clock));
  }
  return text.empty() ? "" : " instead, we could promise:\n" + text;
}

std::string quote_text(const wire::QuoteReply& quote, const WallClock& clock) {
  std::string text;
  if (!quote.admitted()) {
    text =
        fmt::format(" refused    {}\n", quote.message().empty() ? quote.reason() : quote.message());
    return text + offers_text(quote.offers(), clock);
  }
  text = fmt::format(" quote      {}", finish_text(quote, clock));
  if (quote.gpu_hours() > 0) {
    text += fmt::format("   {:.3g} GPU-hours", quote.gpu_hours());
  }
  if (const std::string plan = plan_text(quote.plan()); !plan.empty()) {
    text += fmt::format("   workers {}", plan);
  }
  text += "\n";
  if (quote.basis() == "planned") {
    text += "            as planned: too many jobs are active to simulate them\n";
  } else if (quote.has_planned_finish()) {
    text += fmt::format(" plan       {} at the latest, with no more than it needs\n",
                        moment_text(quote.planned_finish(), clock));
  }
  if (quote.has_promised()) {
    text += fmt::format(" promise    by {}\n", moment_text(quote.promised(), clock));
  } else {
    text +=
        fmt::format(" promise    {}\n",
                    quote.message().empty() ? "none: best effort" : "none yet: " + quote.message());
  }
  if (quote.has_earliest()) {
    text += fmt::format(" earliest   {} is the earliest deadline we could promise\n",
                        moment_text(quote.earliest(), clock));
  }
  text += fmt::format(" our record {}\n", record_text(quote));
  if (!quote.provenance().empty() && quote.provenance() != "measured") {
    text += fmt::format(" speeds     {}, not measured yet\n", quote.provenance());
  }
  return text;
}

}  // namespace rubato
