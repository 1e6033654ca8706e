#include "rubato/job/emulated_speed.h"

#include <cmath>
#include <exception>
#include <iterator>

#include <fmt/format.h>

namespace rubato {
namespace {

Error bad_speed(const std::string& text) {
  return bad_input(fmt::format(
      "--speed {}: expected workers and steps per second, both above zero, such as 4:12.5", text));
}

Result<std::pair<int, double>> parse_speed(const std::string& text) {
  try {
    std::size_t workers_end = 0;
    const int workers = std::stoi(text, &workers_end);
    if (workers_end >= text.size() || text[workers_end] != ':' || workers < 1) {
      return bad_speed(text);
    }
    const std::string rest = text.substr(workers_end + 1);
    std::size_t speed_end = 0;
    const double speed = std::stod(rest, &speed_end);
    if (speed_end != rest.size() || !std::isfinite(speed) || speed <= 0) {
      return bad_speed(text);
    }
    return std::pair{workers, speed};
  } catch (const std::exception&) {
    return bad_speed(text);
  }
}

}  // namespace

Result<EmulatedSpeeds> parse_speeds(const std::vector<std::string>& texts) {
  EmulatedSpeeds speeds;
  for (const std::string& text : texts) {
    const auto parsed = parse_speed(text);
    if (!parsed) {
      return parsed.error();
    }
    speeds.insert_or_assign(parsed->first, parsed->second);
  }
  return speeds;
}

double speed_at(const EmulatedSpeeds& speeds, int workers) {
  if (speeds.empty()) {
    return workers;
  }
  const auto above = speeds.lower_bound(workers);
  if (above == speeds.end()) {
    return speeds.rbegin()->second;
  }
  if (above->first == workers) {
    return above->second;
  }
  if (above == speeds.begin()) {
    return above->second * workers / above->first;
  }
  const auto below = std::prev(above);
  const double part = static_cast<double>(workers - below->first) / (above->first - below->first);
  return below->second + part * (above->second - below->second);
}

}  // namespace rubato
