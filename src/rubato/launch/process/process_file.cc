#include "rubato/launch/process/process_file.h"

#include <array>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "rubato/wire/descriptor.h"

namespace rubato {

std::string process_file(pid_t pid, std::string_view name) {
  const Descriptor file(
      ::open(fmt::format("/proc/{}/{}", pid, name).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> piece{};
  while (file.is_open()) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got <= 0) {
      break;
    }
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace rubato
