// `rubato sim`: replays traces through the engine under one or more policies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rubato/predict/resize_cost.h"
#include "rubato/sim/fault_model.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

/// What the user asked for, as text where it still has to be understood.
struct SimArguments {
  std::vector<std::string> traces{};
  std::string format = "auto";
  std::string cluster = "16x8";
  std::vector<std::string> policies{};
  std::string speeds{};
  std::string profiles{};
  double slot_seconds = 60;
  std::string rounds{};
  double restart_seconds = -1;
  double firm_quotes = 0;
  bool share_profiles = false;
  std::string overhead = "physical";
  std::string objective = "deadlines";
  std::vector<double> noises = {0};
  std::uint64_t seed = 0;
  int seeds = 1;
  std::string faults{};
  double limit_seconds = 0;
  std::string tenants{};
  std::string placer{};
  bool redraw_deadlines = false;
  bool bound = false;
  std::string html{};
  std::string perfetto{};
  bool json = false;
  std::string command{};
};

/// Adds the verb; its exit code is stored in `exit_code` when it is called.
void add_sim_verb(CLI::App& app, int& exit_code, const std::string& command);

/// Runs it; prints to stdout, progress and errors to stderr.
[[nodiscard]] int run_sim(const SimArguments& arguments);

}  // namespace rubato
