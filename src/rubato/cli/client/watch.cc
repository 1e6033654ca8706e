#include "rubato/cli/client/watch.h"

#include <chrono>
#include <cstdio>
#include <thread>
#include <unistd.h>

#include <fmt/core.h>

#include "rubato/cli/process/interrupt_count.h"

namespace rubato {
namespace {

constexpr auto kWatchPause = std::chrono::milliseconds(100);
constexpr int kPausesPerLook = 10;

bool is_told_to_stop(const InterruptCount& signals) {
  return signals.interrupts() > 0 || signals.is_told_to_end();
}

}  // namespace

void watch_text(const std::function<WatchedText()>& make) {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  const InterruptCount signals;
  std::string shown;
  while (!is_told_to_stop(signals)) {
    const WatchedText now = make();
    if (now.text != shown) {
      // Home, the text, and nothing of the last one below it.
      fmt::print("{}{}", is_terminal ? "\x1b[H\x1b[J" : "", now.text);
      std::fflush(stdout);
      shown = now.text;
    }
    if (now.is_last) {
      return;
    }
    for (int i = 0; i < kPausesPerLook && !is_told_to_stop(signals); ++i) {
      std::this_thread::sleep_for(kWatchPause);
    }
  }
}

}  // namespace rubato
