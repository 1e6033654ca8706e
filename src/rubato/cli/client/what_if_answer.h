// Asks the platform what would be, and prints it: for `what-if` and `scale --dry-run`.
#pragma once

#include "rubato/cli/client/client_flags.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

/// The exit code.
int ask_what_if(const char* verb, const ClientFlags& flags, const wire::WhatIfRequest& request);

}  // namespace rubato
