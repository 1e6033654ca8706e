#include "rubato/cli/text/progress_bar.h"

#include <cstdio>
#include <utility>

#include <fmt/core.h>

namespace rubato {
namespace {

constexpr int kCells = 24;
constexpr int kLineEvery = 25;         // Percent between two lines where there is no terminal.
constexpr std::size_t kNamesMax = 36;  // Characters for the names of what is under way.

}  // namespace

std::string progress_cells(double part) {
  std::string cells;
  for (int i = 0; i < kCells; ++i) {
    cells += i < static_cast<int>(part * kCells + 1e-9) ? "█" : "░";
  }
  return cells;
}

ProgressBar::ProgressBar(std::vector<std::string> names, bool is_terminal, bool is_quiet)
    : is_terminal_(is_terminal), is_quiet_(is_quiet) {
  for (std::string& name : names) {
    runs_.push_back({.name = std::move(name)});
  }
}

ProgressBar::~ProgressBar() {
  if (is_terminal_ && !is_quiet_ && shown_ >= 0) {
    fmt::print(stderr, "\r\x1b[K");
  }
}

void ProgressBar::update(std::size_t run, std::size_t done, std::size_t all) {
  runs_[run].has_started = true;
  runs_[run].part = all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all);
  show();
}

void ProgressBar::finish(std::size_t run) {
  runs_[run].has_ended = true;
  runs_[run].part = 1;
  show();
}

int ProgressBar::percent() const {
  double sum = 0;
  for (const Run& run : runs_) {
    sum += run.part;
  }
  // A hair more, so that many parts add up to the whole.
  return runs_.empty() ? 100
                       : static_cast<int>(100 * sum / static_cast<double>(runs_.size()) + 1e-6);
}

std::string ProgressBar::words() const {
  std::size_t ended = 0;
  std::string names;
  for (const Run& run : runs_) {
    ended += run.has_ended ? 1 : 0;
    if (run.has_started && !run.has_ended) {
      names += (names.empty() ? ", now " : ", ") + run.name;
    }
  }
  if (names.size() > kNamesMax) {
    names = names.substr(0, kNamesMax - 3) + "...";
  }
  return fmt::format("{} of {} runs{}", ended, runs_.size(), names);
}

void ProgressBar::show() {
  const int now = percent();
  if (is_quiet_) {
    return;
  }
  if (!is_terminal_) {
    if (shown_ < 0 || now / kLineEvery != shown_ / kLineEvery) {
      fmt::print(stderr, "simulating: {} %, {}\n", now, words());
      shown_ = now;
    }
    return;
  }
  const std::string text = words();
  if (now == shown_ && text == shown_words_) {
    return;
  }
  fmt::print(stderr, "\r  {} {:3d} %  {}\x1b[K", progress_cells(now / 100.0), now, text);
  std::fflush(stderr);
  shown_ = now;
  shown_words_ = text;
}

}  // namespace rubato
