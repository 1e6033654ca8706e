#include "rubato/launch/warm/warm_start.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "rubato/launch/script/python_command.h"

namespace rubato {
namespace {

// Read when the interpreter or a library is loaded.
constexpr std::array<std::string_view, 14> kLoadTimePrefixes{
    "PYTHON", "LD_",  "LC_",  "OMP_",   "GOMP_",   "KMP_",    "OPENBLAS_",
    "MKL_",   "BLIS", "ATEN", "TORCH_", "PYTORCH", "MALLOC_", "GLIBC_"};
constexpr std::array<std::string_view, 3> kLoadTimeNames{"HOME", "LANG", "LANGUAGE"};
// The zygote sets these itself, and its children anew.
constexpr std::array<std::string_view, 1> kSetAgain{"OPENBLAS_NUM_THREADS"};

bool is_load_time(std::string_view name) {
  const auto is_name = [name](std::string_view other) { return name == other; };
  if (std::ranges::any_of(kSetAgain, is_name)) {
    return false;
  }
  return std::ranges::any_of(kLoadTimeNames, is_name) ||
         std::ranges::any_of(kLoadTimePrefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::variant<WarmStart, ColdStart> warm_start(const std::vector<std::string>& argv,
                                              const std::string& interpreter, bool is_native,
                                              const Environment& environment) {
  if (argv.empty() || !launch::script::is_python_program(argv.front())) {
    return ColdStart{};
  }
  if (!is_native) {
    return ColdStart{
        fmt::format("{} is a script that chooses an interpreter each time", interpreter)};
  }
  std::size_t script = 1;
  while (script < argv.size() && argv[script] == "-u") {
    ++script;
  }
  if (script == argv.size() || argv[script].starts_with('-') || !argv[script].ends_with(".py")) {
    return ColdStart{"only `python3 [-u] script.py ...` can start warm"};
  }
  if (environment.contains("PYTHONINSPECT")) {
    return ColdStart{"PYTHONINSPECT asks for an interpreter of its own"};
  }
  if (value_or(environment, "PYTHONHASHSEED", "") == "random") {
    return ColdStart{"PYTHONHASHSEED=random asks for a seed of its own"};
  }
  ZygoteKey key{.interpreter = interpreter};
  if (script > 1) {
    key.flags = {"-u"};
  }
  std::ranges::copy_if(environment, std::inserter(key.load_time, key.load_time.end()),
                       [](const auto& entry) { return is_load_time(entry.first); });
  return WarmStart{.key = std::move(key), .script = script};
}

}  // namespace rubato
