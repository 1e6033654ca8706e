// A quote, or a refusal with what could be had instead, as `rubato run` and `rubato quote` show it.
#pragma once

#include <string>

#include "rubato/spec/deadline_text.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

/// `2 -> 6 -> 4`: the workers of a plan in turn.
[[nodiscard]] std::string plan_text(
    const google::protobuf::RepeatedPtrField<wire::PlannedShare>& plan);

/// Finish, cost, earliest deadline and our own record; for a refused one also the counter-offers.
[[nodiscard]] std::string quote_text(const wire::QuoteReply& quote, const WallClock& clock);

/// One line per offer, each beginning with flags to paste where flags would help.
[[nodiscard]] std::string offers_text(
    const google::protobuf::RepeatedPtrField<wire::CounterOffer>& offers, const WallClock& clock);

}  // namespace rubato
