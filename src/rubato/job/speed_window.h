// How fast a job has been of late with the workers it has now.
#pragma once

namespace rubato {

/// A mean over whole steps, in which those of long ago count less and less. Counting the steps of a
/// fixed second instead would make a job with long steps stand still and race by turns.
class SpeedWindow {
 public:
  /// So many steps took so long; other workers than before begin a new window.
  void add(int workers, double steps, double seconds);
  /// Steps per second with so many workers; zero: not known yet.
  [[nodiscard]] double speed(int workers) const;

 private:
  int workers_ = 0;
  double steps_ = 0;
  double seconds_ = 0;
};

}  // namespace rubato
