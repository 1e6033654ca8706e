// Progress of long work: a bar on a terminal, a line now and then otherwise, always on stderr.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rubato {

/// The bar itself, for a part from 0 to 1.
[[nodiscard]] std::string progress_cells(double part);

/// Sums the progress of several runs and names those under way; prints only when the picture
/// changes.
class ProgressBar {
 public:
  ProgressBar(std::vector<std::string> names, bool is_terminal, bool is_quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::size_t run, std::size_t done, std::size_t all);
  /// The run is over, whether it came to its end or not.
  void finish(std::size_t run);

  /// What is shown beside the bar, such as "7 of 40 runs, now gavel-las, pollux".
  [[nodiscard]] std::string words() const;
  [[nodiscard]] int percent() const;

 private:
  void show();

  struct Run {
    std::string name{};
    bool has_started = false;
    bool has_ended = false;
    double part = 0;
  };

  std::vector<Run> runs_;
  bool is_terminal_;
  bool is_quiet_;
  int shown_ = -1;
  std::string shown_words_;
};

}  // namespace rubato
