#include "rubato/live/journal/checkpoint_file.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/live/journal/journal_schema.h"
#include "rubato/wire/descriptor.h"

namespace rubato {
namespace {

constexpr int kChildNice = 5;  // Those who wait for answers go first.

Error io_error(const std::string& path, const char* what) {
  return Error{
      .code = ErrorCode::Io,
      .message = fmt::format("{}: {}: {}", path, what, std::generic_category().message(errno))};
}

Status write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) {
      return io_error(path, "cannot be written");
    }
    bytes.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  return ok_status();
}

std::string head_line(const JournalCheckpoint& checkpoint) {
  return fmt::format("rubato-state/1 {} {} {}\n", checkpoint.sequence, checkpoint.bytes.size(),
                     checksum_of({.sequence = checkpoint.sequence, .bytes = checkpoint.bytes}));
}

}  // namespace

Status write_checkpoint_file(const std::string& path, const JournalCheckpoint& checkpoint) {
  const std::string half = path + ".new";
  const std::string head = head_line(checkpoint);
  {
    const Descriptor file(::open(half.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (file.get() < 0) {
      return io_error(half, "cannot be opened");
    }
    for (const std::string_view part :
         {std::string_view(head), std::string_view(checkpoint.bytes)}) {
      if (Status written = write_all(file.get(), part, half); !written) {
        return written;
      }
    }
    if (::fsync(file.get()) != 0) {
      return io_error(half, "cannot be written");
    }
  }
  return ::rename(half.c_str(), path.c_str()) == 0 ? ok_status()
                                                   : Status(io_error(path, "cannot be replaced"));
}

std::optional<JournalCheckpoint> read_checkpoint_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head;
  if (!std::getline(file, head)) {
    return std::nullopt;
  }
  JournalCheckpoint checkpoint;
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  if (failure || size < head.size() + 1) {
    return std::nullopt;
  }
  checkpoint.bytes.resize(size - head.size() - 1);
  file.read(checkpoint.bytes.data(), static_cast<std::streamsize>(checkpoint.bytes.size()));
  unsigned long long sequence = 0;
  if (!file || std::sscanf(head.c_str(), "rubato-state/1 %llu", &sequence) != 1) {
    return std::nullopt;
  }
  checkpoint.sequence = sequence;
  if (head_line(checkpoint) != head + "\n") {
    return std::nullopt;
  }
  return checkpoint;
}

CheckpointChild::~CheckpointChild() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
}

bool CheckpointChild::is_busy() {
  if (child_ > 0 && ::waitpid(child_, nullptr, WNOHANG) != 0) {
    child_ = 0;
  }
  return child_ > 0;
}

Status CheckpointChild::begin(std::uint64_t sequence, const std::function<std::string()>& save) {
  const pid_t child = ::fork();
  if (child < 0) {
    return io_error(path_, "no process to write it");
  }
  if (child == 0) {
    // Nothing of ours may stay open there when we are gone: neither ports nor the journal's lock.
    ::close_range(0, ~0U, 0);
    (void)::nice(kChildNice);
    const Status written = write_checkpoint_file(path_, {.sequence = sequence, .bytes = save()});
    ::_exit(written.ok() ? 0 : 1);
  }
  child_ = child;
  return ok_status();
}

}  // namespace rubato
