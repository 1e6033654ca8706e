#include "rubato/job/worker_environment.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "rubato/runtime/machine/blas_check.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

std::string cpu_description() {
  std::ifstream file("/proc/cpuinfo");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string own_program() {
  std::error_code failure;
  return fs::read_symlink("/proc/self/exe", failure).string();
}

Environment worker_environment() {
  Environment environment = inherited_environment();
  const std::vector<std::string> lines = assignments(environment);
  const std::vector<std::string_view> views(lines.begin(), lines.end());
  for (const WorkerVariable& variable : blas_settings(cpu_description(), views).variables) {
    environment[variable.name] = variable.value;
  }
  return environment;
}

// Python workers load what makes an unmodified script elastic; it lies beside this program.
Environment with_python_hook(Environment environment) {
  std::error_code failure;
  const fs::path site =
      fs::path(own_program()).parent_path() / "python" / "rubato" / "startup" / "site";
  if (fs::is_directory(site, failure)) {
    std::string& path = environment["PYTHONPATH"];
    path = path.empty() ? site.string() : fmt::format("{}:{}", site.string(), path);
  }
  return environment;
}

}  // namespace rubato
