// Which communication groups ElasticFlow's published simulator believes to exist already.
//
// At every round it places all jobs anew, largest first and side by side, and knows a group only by
// its first GPU and its size. A job whose group exists pays the short pause. All groups are gone
// after every round whose number is a multiple of the slot length in seconds (the artifact uses the
// one number for both); in that round itself jobs whose group exists still pay little.
#pragma once

#include <set>
#include <tuple>

namespace rubato::policy::artifact {

struct Group {
  int first_gpu = 0;
  int gpus = 0;

  friend bool operator<(const Group& one, const Group& other) {
    return std::tie(one.first_gpu, one.gpus) < std::tie(other.first_gpu, other.gpus);
  }
};

/// Hold one round as begin_round(), place() for each job in order, end_round().
class Groups {
 public:
  /// True if this round restarts every trainer process.
  bool begin_round(int rounds_between_restarts);
  /// Puts the next job beside the last one; true if its group exists already.
  bool place(int gpus);
  void end_round();

  [[nodiscard]] int rounds() const { return rounds_; }
  [[nodiscard]] const std::set<Group>& known() const { return known_; }
  void restore(int rounds, std::set<Group> known);

 private:
  int rounds_ = 0;
  bool restarts_ = false;  // Within a round.
  int next_gpu_ = 0;       // Within a round.
  std::set<Group> known_;
};

}  // namespace rubato::policy::artifact
