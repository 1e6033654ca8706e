// How a verb that asks the platform one thing goes: call, print, exit code.
#pragma once

#include <string>

#include <fmt/core.h>

#include "rubato/cli/client/platform_client.h"
#include "rubato/cli/process/exit_code.h"

namespace rubato {

/// Says on stderr why there is no answer, with counter-offers if there are any; returns the exit
/// code.
int explain_failure(const char* verb, const CallFailure& failure);
int explain_failure(const char* verb, const Error& error);

/// Asks once and prints the answer: the server's JSON, or what `show` makes of the message. `look`
/// sees the message in either case.
template <typename Answer, typename Show, typename Look>
int ask_platform(const char* verb, const ClientFlags& flags, const WebCall& call, Show show,
                 Look look) {
  auto client = PlatformClient::open(flags);
  if (!client) {
    return explain_failure(verb, client.error());
  }
  Answer answer;
  if (const auto failure = client->call(call, answer)) {
    return explain_failure(verb, *failure);
  }
  look(answer);
  fmt::print("{}", flags.prints_json ? client->json() : show(answer));
  return kExitOk;
}

template <typename Answer, typename Show>
int ask_platform(const char* verb, const ClientFlags& flags, const WebCall& call, Show show) {
  return ask_platform<Answer>(verb, flags, call, show, [](const Answer& /*answer*/) {});
}

}  // namespace rubato
