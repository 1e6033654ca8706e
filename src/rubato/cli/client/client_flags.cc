#include "rubato/cli/client/client_flags.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rubato/base/parse.h"

namespace rubato {
namespace {

constexpr std::string_view kDefaultServer = "http://127.0.0.1:8421";

// The token that a file holds.
Result<std::string> read_token(const std::string& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string_view token = trimmed(text);
  if (!file || token.empty() || token.find_first_of(" \t\r\n") != std::string_view::npos) {
    return Error{.code = ErrorCode::BadConfig,
                 .message = fmt::format("{}: expected a file with one token", path)};
  }
  return std::string(token);
}

// Where a user's own token lies if nothing else is said.
std::string default_token_file(const VariableLookup& variable) {
  if (const auto config = variable("XDG_CONFIG_HOME")) {
    return *config + "/rubato/token";
  }
  const auto home = variable("HOME");
  return home ? *home + "/.config/rubato/token" : "";
}

Result<std::string> token_of(const ClientFlags& flags, const VariableLookup& variable) {
  if (!flags.token_file.empty()) {
    return read_token(flags.token_file);
  }
  if (const auto token = variable("RUBATO_TOKEN")) {
    return std::string(trimmed(*token));
  }
  if (const auto file = variable("RUBATO_TOKEN_FILE")) {
    return read_token(*file);
  }
  const std::string file = default_token_file(variable);
  return std::ifstream(file).good() ? read_token(file) : std::string{};
}

}  // namespace

void add_client_flags(CLI::App& verb, ClientFlags& flags) {
  verb.add_option("--server", flags.server,
                  "Address of the platform; default: RUBATO_SERVER or http://127.0.0.1:8421");
  verb.add_option("--ca", flags.ca_file, "Certificate (PEM) that vouches for an https server");
  verb.add_option("--token-file", flags.token_file,
                  "File with your token; default: RUBATO_TOKEN or the user's configuration");
  verb.add_option("--timeout", flags.timeout_seconds, "Seconds to wait for an answer")
      ->check(CLI::PositiveNumber);
  verb.add_flag("--json", flags.prints_json, "Print the server's JSON");
}

std::optional<std::string> process_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

Result<WebOptions> web_options(const ClientFlags& flags, const VariableLookup& variable) {
  const std::string server = flags.server.empty()
                                 ? variable("RUBATO_SERVER").value_or(std::string(kDefaultServer))
                                 : flags.server;
  auto address = parse_web_address(server);
  if (!address) {
    return address.error();
  }
  auto token = token_of(flags, variable);
  if (!token) {
    return token.error();
  }
  return WebOptions{.server = *std::move(address),
                    .token = *std::move(token),
                    .ca_file = flags.ca_file,
                    .timeout = from_seconds(flags.timeout_seconds)};
}

}  // namespace rubato
