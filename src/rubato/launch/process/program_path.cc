#include "rubato/launch/process/program_path.h"

#include <array>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "rubato/wire/descriptor.h"

namespace rubato {
namespace {

// What execvp searches when there is no PATH.
constexpr std::string_view kDefaultPath = "/bin:/usr/bin";

bool is_program(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::string from(const std::string& directory, const std::string& path) {
  return path.starts_with('/') || directory.empty() ? path : fmt::format("{}/{}", directory, path);
}

Error not_found(const std::string& name, std::string_view where) {
  return Error{.code = ErrorCode::NotFound,
               .message = fmt::format("{}: no such program {}", name, where)};
}

}  // namespace

Result<std::string> program_path(const std::string& name, const Environment& environment,
                                 const std::string& directory) {
  if (name.find('/') != std::string::npos) {
    std::string path = from(directory, name);
    if (!is_program(path)) {
      return not_found(name, "that can be run");
    }
    return path;
  }
  const std::string_view searched = value_or(environment, "PATH", kDefaultPath);
  std::string_view rest = searched;
  while (!name.empty()) {
    const std::size_t end = rest.find(':');
    // An empty entry means the working directory.
    const std::string_view entry = rest.substr(0, end);
    std::string path = from(directory, entry.empty() ? name : fmt::format("{}/{}", entry, name));
    if (is_program(path)) {
      return path;
    }
    if (end == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(end + 1);
  }
  return not_found(name, fmt::format("in PATH ({})", searched));
}

bool is_native_program(const std::string& path) {
  constexpr std::string_view kElf = "\177ELF";
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, kElf.size()> head{};
  return file.is_open() && ::read(file.get(), head.data(), head.size()) == kElf.size() &&
         std::string_view(head.data(), head.size()) == kElf;
}

}  // namespace rubato
