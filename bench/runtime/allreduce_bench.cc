// Measures sums over processes of this host: ours, c10d's gloo and, where it is installed, OpenMPI.
// All of them run in turn in the same processes, so that whatever else the machine does meets each
// of them alike; the ratios mean more than the times.
//
// Usage: allreduce_bench [--rounds N] [--json FILE] [--mpirun PROGRAM]

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/runtime/allreduce_worker.h"

namespace {

using rubato::AllReduceWorker;

/// Replaces this process by another program.
[[noreturn]] void become(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

/// Starts what measures one number of processes; false if any of it failed.
bool run_crew(const std::string& self, const std::string& mpirun, const AllReduceWorker& worker) {
  std::vector<std::string> command{self,
                                   "--worker",
                                   worker.directory,
                                   "--size",
                                   std::to_string(worker.size),
                                   "--rounds",
                                   std::to_string(worker.rounds)};
  std::vector<pid_t> children;
  for (int rank = 0; rank < (mpirun.empty() ? worker.size : 1); ++rank) {
    const pid_t child = fork();
    if (child == 0 && !mpirun.empty()) {
      setenv("OMPI_MCA_mpi_yield_when_idle", "1", 1);
      setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
      setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
      command.insert(command.begin(), {mpirun, "--oversubscribe", "--bind-to", "none", "-n",
                                       std::to_string(worker.size)});
      command.emplace_back("--mpi");
      become(command);
    }
    if (child == 0) {
      command.insert(command.end(), {"--rank", std::to_string(rank)});
      become(command);
    }
    children.push_back(child);
  }
  bool succeeded = true;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    succeeded = succeeded && status == 0;
  }
  return succeeded;
}

/// Times by contender and by bytes, and how many times ours the others take.
void print_table(const nlohmann::json& rows, int processes) {
  std::map<std::size_t, std::map<std::string, double>> table;
  for (const auto& row : rows) {
    table[row["bytes"]][row["contender"]] = row["median_us"];
  }
  for (const auto& [bytes, times] : table) {
    fmt::print("{} processes {:>9} bytes", processes, bytes);
    for (const auto& [name, micros] : times) {
      fmt::print("  {} {:.1f} us", name, micros);
      if (name != "rubato") {
        fmt::print(" ({:.1f}x)", micros / times.at("rubato"));
      }
    }
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures sums over processes of this host");
  AllReduceWorker worker;
  std::string json;
  std::string mpirun;
  app.add_option("--rounds", worker.rounds, "Measurements of which the median is taken");
  app.add_option("--json", json, "File to write");
  app.add_option("--mpirun", mpirun, "Program that starts OpenMPI's processes");
  app.add_option("--worker", worker.directory, "Take part in a measurement (used by ourselves)");
  app.add_option("--size", worker.size, "");
  app.add_option("--rank", worker.rank, "");
  app.add_flag("--mpi", worker.has_mpi, "");
  CLI11_PARSE(app, argc, argv);
  if (!worker.directory.empty()) {
    return rubato::run_allreduce_worker(worker);
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  nlohmann::json all = nlohmann::json::array();
  for (const int size : {2, 4}) {
    std::string directory = std::filesystem::temp_directory_path() / "rubato-allreduce-XXXXXX";
    if (mkdtemp(directory.data()) == nullptr) {
      std::perror("mkdtemp");
      return 1;
    }
    worker.directory = directory;
    worker.size = size;
    const bool succeeded = run_crew(self, mpirun, worker);
    nlohmann::json rows;
    if (succeeded) {
      std::ifstream(directory + "/results.json") >> rows;
      print_table(rows, size);
      all.insert(all.end(), rows.begin(), rows.end());
    }
    std::filesystem::remove_all(directory);
    if (!succeeded) {
      fmt::print(stderr, "allreduce_bench: a process of the group of {} failed\n", size);
      return 1;
    }
  }
  if (!json.empty()) {
    std::ofstream(json) << all.dump(2) << '\n';
  }
  return 0;
}
