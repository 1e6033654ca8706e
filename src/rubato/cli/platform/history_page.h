// The history of a platform as one file: the dashboard with the answers it would ask for inside, so
// that it needs no server and looks as the live one does.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/cli/client/platform_client.h"
#include "rubato/live/rest/static_files.h"

namespace rubato {

/// JSON by the path that was asked.
using KeptAnswers = std::map<std::string, std::string>;

/// All that the pages show; a failure if one of the answers does not come.
[[nodiscard]] std::variant<KeptAnswers, CallFailure> kept_answers(PlatformClient& client);

/// `count` places of `all`, rising, as far apart as can be: the first and the last are among them.
[[nodiscard]] std::vector<int> spread_places(int all, int count);

/// Fails if the program was built without the dashboard.
[[nodiscard]] Result<std::string> history_page(const StaticFiles& dashboard,
                                               const KeptAnswers& answers);

}  // namespace rubato
