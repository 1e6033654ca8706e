#include "rubato/live/journal/options_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rubato {

std::string options_to_json(const ControllerOptions& options) {
  auto nodes = nlohmann::json::array();
  for (const LiveNode& node : options.nodes) {
    nodes.push_back({{"name", node.name},
                     {"agent", node.agent},
                     {"gpu_type", node.gpu_type},
                     {"slots", node.slots}});
  }
  const nlohmann::json json = {
      {"policy", options.policy},           {"nodes", nodes},
      {"slot_us", options.slot.count()},    {"resize_pause_us", options.resize_pause.count()},
      {"margin", options.margin},           {"margin_min_us", options.margin_min.count()},
      {"firm_quotes", options.firm_quotes}, {"seed", options.seed}};
  // Names come from users: what is no UTF-8 is replaced, not thrown.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<ControllerOptions> options_from_json(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    ControllerOptions options{
        .policy = json.at("policy").get<std::string>(),
        .slot = Duration{json.at("slot_us").get<std::int64_t>()},
        .resize_pause = Duration{json.at("resize_pause_us").get<std::int64_t>()},
        .margin = json.at("margin").get<double>(),
        .margin_min = Duration{json.at("margin_min_us").get<std::int64_t>()},
        .firm_quotes = json.value("firm_quotes", 0.0),  // Journals from before there were any.
        .seed = json.at("seed").get<std::uint64_t>()};
    for (const auto& node : json.at("nodes")) {
      options.nodes.push_back({.name = node.at("name").get<std::string>(),
                               .agent = node.at("agent").get<std::string>(),
                               .gpu_type = node.at("gpu_type").get<std::string>(),
                               .slots = node.at("slots").get<int>()});
    }
    return options;
  } catch (const nlohmann::json::exception& failure) {
    return bad_input(fmt::format("the controller's options are damaged: {}", failure.what()));
  }
}

}  // namespace rubato
