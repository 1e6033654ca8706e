#include "rubato/launch/device_seats.h"

#include <algorithm>

namespace rubato {

const std::string& DeviceSeats::seat(WorkerId worker) {
  std::string chosen;
  auto fewest = static_cast<std::ptrdiff_t>(seats_.size()) + 1;
  for (const std::string& device : devices_) {
    const auto sitting =
        std::ranges::count_if(seats_, [&](const auto& entry) { return entry.second == device; });
    if (sitting < fewest) {
      fewest = sitting;
      chosen = device;
    }
  }
  return seats_[worker] = chosen;
}

std::set<WorkerId> DeviceSeats::misplaced() const {
  std::set<WorkerId> found;
  for (const auto& [worker, device] : seats_) {
    if (!device.empty() && std::ranges::count(devices_, device) == 0) {
      found.insert(worker);
    }
  }
  return found;
}

bool DeviceSeats::has_devices() const {
  return std::ranges::any_of(devices_, [](const std::string& device) { return !device.empty(); });
}

}  // namespace rubato
