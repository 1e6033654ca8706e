#include "rubato/engine/answers/quote.h"

namespace rubato {

std::string_view to_string(OfferKind kind) {
  switch (kind) {
    case OfferKind::LaterDeadline:
      return "later_deadline";
    case OfferKind::MoreGpus:
      return "more_gpus";
    case OfferKind::BestEffort:
      return "best_effort";
  }
  return "?";
}

}  // namespace rubato
