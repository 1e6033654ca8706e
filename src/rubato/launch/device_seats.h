// Which worker of a job sits on which device, as slots come and go.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rubato/launch/launcher.h"

namespace rubato {

/// The devices of a job's slots, by the names its workers see them under. A slot without a name is
/// a share of the CPUs: it does not matter who sits there.
class DeviceSeats {
 public:
  /// From now on these are the job's.
  void offer(std::vector<std::string> devices) { devices_ = std::move(devices); }
  /// Seats a new worker at the device with the fewest workers.
  const std::string& seat(WorkerId worker);
  /// Its process is gone.
  void leave(WorkerId worker) { seats_.erase(worker); }

  /// Workers at devices that are not offered any more.
  [[nodiscard]] std::set<WorkerId> misplaced() const;
  [[nodiscard]] int slots() const { return static_cast<int>(devices_.size()); }
  [[nodiscard]] bool has_devices() const;

 private:
  std::vector<std::string> devices_{};
  std::map<WorkerId, std::string> seats_{};
};

}  // namespace rubato
