#include "rubato/cli/progress_bar.h"

#include <algorithm>
#include <cstdio>

#include <fmt/core.h>

namespace rubato {
namespace {

constexpr int kCells = 32;
constexpr int kLineEvery = 25;  // Percent between two lines where there is no terminal.

}  // namespace

ProgressBar::ProgressBar(std::size_t runs, bool is_terminal, bool is_quiet)
    : runs_(runs), is_terminal_(is_terminal), is_quiet_(is_quiet) {}

ProgressBar::~ProgressBar() {
  if (is_terminal_ && !is_quiet_ && shown_ >= 0) {
    fmt::print(stderr, "\r\x1b[K");
  }
}

void ProgressBar::update(std::size_t run, std::size_t done, std::size_t all) {
  runs_[run] = Run{.done = done, .all = all};
  double sum = 0;
  for (const Run& each : runs_) {
    sum += each.all == 0 ? 0 : static_cast<double>(each.done) / static_cast<double>(each.all);
  }
  const int percent = static_cast<int>(100 * sum / static_cast<double>(runs_.size()));
  if (!is_quiet_ && percent != shown_) {
    draw(percent);
  }
}

void ProgressBar::draw(int percent) {
  if (is_terminal_) {
    const int full = percent * kCells / 100;
    std::string cells;
    for (int i = 0; i < kCells; ++i) {
      cells += i < full ? "█" : "░";
    }
    fmt::print(stderr, "\r  {} {:3d} %  simulating {} runs", cells, percent, runs_.size());
    std::fflush(stderr);
  } else if (shown_ < 0 || percent / kLineEvery != shown_ / kLineEvery) {
    fmt::print(stderr, "simulating {} runs: {} %\n", runs_.size(), percent);
  }
  shown_ = percent;
}

}  // namespace rubato
