// Progress of long work: a bar on a terminal, a line now and then otherwise, always on stderr.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rubato {

/// Sums the progress of several runs; prints only when the picture changes.
class ProgressBar {
 public:
  ProgressBar(std::size_t runs, bool is_terminal, bool is_quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::size_t run, std::size_t done, std::size_t all);

 private:
  void draw(int percent);

  struct Run {
    std::size_t done = 0;
    std::size_t all = 0;
  };

  std::vector<Run> runs_;
  bool is_terminal_;
  bool is_quiet_;
  int shown_ = -1;
};

}  // namespace rubato
