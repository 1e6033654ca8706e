// The dashboard: bundled from web/ when the program is built, given to browsers by the server.
#pragma once

#include "rubato/live/rest/static_files.h"

namespace rubato {

/// Empty in programs that were built without it.
[[nodiscard]] StaticFiles dashboard_files();

}  // namespace rubato
