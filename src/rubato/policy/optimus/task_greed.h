// One task at a time to whom it saves the most time: the greedy rule of Optimus (EuroSys'18).
//
// A job has tasks of several roles (workers; in the paper parameter servers, too) and a remaining
// time that depends on how many it has of each. Every step gives one task to the job and role with
// the largest saving per unit of its dominant resource, until nothing is left or nobody gains.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace rubato::policy::optimus {

/// How many tasks of each role a job has, and what time that leaves it.
struct TaskHolder {
  std::vector<int> tasks{};                                       // By role.
  std::vector<int> limits{};                                      // By role; no limit if empty.
  std::function<double(std::span<const int> tasks)> time_left{};  // Seconds.
};

/// What there is of each role, and what one task of it takes of the dominant resource.
struct TaskSupply {
  int left = 0;
  double amount = 1;
};

/// Adds tasks to the holders, who start with what they must have. Ties go to the first holder, then
/// to the first role. Costs O(log holders) and one question per task handed out.
void hand_out_tasks(std::span<TaskHolder> holders, std::span<TaskSupply> supplies);

}  // namespace rubato::policy::optimus
