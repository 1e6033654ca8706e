// `--watch`: a text made again and again, written over the last one on a terminal.
#pragma once

#include <functional>
#include <string>

namespace rubato {

/// What to show now, and whether to go on.
struct WatchedText {
  std::string text{};
  bool is_last = false;
};

/// Shows texts until one is the last or Ctrl-C is pressed. Without a terminal, a text is printed
/// when it differs from the one before.
void watch_text(const std::function<WatchedText()>& make);

}  // namespace rubato
