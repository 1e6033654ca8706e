#include "rubato/cli/text/wall_clock.h"

#include <chrono>
#include <ctime>

namespace rubato {
namespace {

Duration local_offset(Instant moment) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(moment.time_since_epoch());
  const auto when = static_cast<std::time_t>(seconds.count());
  std::tm local{};
  return localtime_r(&when, &local) == nullptr ? Duration{0}
                                               : Duration(std::chrono::seconds(local.tm_gmtoff));
}

}  // namespace

WallClock local_wall_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.now = Instant{std::chrono::duration_cast<Duration>(now)}, .zone = local_offset};
}

}  // namespace rubato
