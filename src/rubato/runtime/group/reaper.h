// A thread that takes things apart whose destruction would keep a training step waiting.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace rubato {

/// Runs what it is given, one after the other, elsewhere. Whoever destroys it waits for the rest.
class Reaper {
 public:
  Reaper() = default;
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  ~Reaper();

  void take(std::function<void()> last_rites);

 private:
  void work();

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<std::function<void()>> waiting_{};
  bool is_ending_ = false;
  std::thread thread_{[this] { work(); }};  // Last: it uses the others.
};

}  // namespace rubato
