// Which server a verb talks to, as whom, and in which form it prints the answer.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "rubato/base/result.h"
#include "rubato/http/client.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

struct ClientFlags {
  std::string server{};
  std::string ca_file{};
  std::string token_file{};
  double timeout_seconds = 30;
  bool prints_json = false;
};

/// Adds --server, --ca, --token-file, --timeout and --json.
void add_client_flags(CLI::App& verb, ClientFlags& flags);

/// The value of an environment variable, if it is set.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;
[[nodiscard]] std::optional<std::string> process_variable(const std::string& name);

/// Server: --server, RUBATO_SERVER, else http://127.0.0.1:8421. Token: --token-file, RUBATO_TOKEN,
/// RUBATO_TOKEN_FILE, else rubato/token in the user's configuration directory, if there is one.
[[nodiscard]] Result<WebOptions> web_options(const ClientFlags& flags,
                                             const VariableLookup& variable = process_variable);

}  // namespace rubato
