#include "rubato/wire/snapshot_directory.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "rubato/base/check.h"
#include "rubato/wire/descriptor.h"
#include "rubato/wire/snapshot_file.h"

namespace rubato {
namespace {

constexpr std::string_view kPrefix = "snapshot-";
constexpr std::string_view kInfix = "-step-";
constexpr std::string_view kUnfinished = ".part";  // Ends the name of a file being written.

Error file_error(std::string_view what, const std::string& path) {
  return Error{.code = ErrorCode::Io,
               .message = fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno))};
}

// Takes a number off the front of the text; false if there is none.
bool take_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}

// The number in a snapshot's name, or nothing if it is not the name of one.
std::optional<std::uint64_t> number_in(std::string_view name) {
  std::uint64_t number = 0;
  std::uint64_t step = 0;
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  name.remove_prefix(kPrefix.size());
  if (!take_number(name, number) || !name.starts_with(kInfix)) {
    return std::nullopt;
  }
  name.remove_prefix(kInfix.size());
  return take_number(name, step) && name.empty() ? std::optional(number) : std::nullopt;
}

Status write_all(int file, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return file_error("write", path);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  return ok_status();
}

Result<std::vector<std::byte>> read_all(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
    return file_error("open", path);
  }
  if (!S_ISREG(status.st_mode)) {
    return bad_input("not a snapshot: it is not a file");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno != EINTR) {
      return file_error("read", path);
    }
    if (count == 0) {  // It has become shorter; what is missing is named when it is decoded.
      bytes.resize(filled);
    }
    filled += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  return bytes;
}

// Makes new and changed names in a directory survive a power failure.
Status sync_directory(const std::string& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || ::fsync(directory.get()) != 0) {
    return file_error("synchronise", path);
  }
  return ok_status();
}

// Writes a file under its own name and waits until the disk has it.
Status write_and_sync(const std::string& path, std::span<const std::byte> bytes) {
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR | S_IRGRP));
  if (!file.is_open()) {
    return file_error("create", path);
  }
  auto written = write_all(file.get(), bytes, path);
  if (written && ::fsync(file.get()) != 0) {
    return file_error("synchronise", path);
  }
  return written;
}

// Makes a directory and those above it, so that they survive a power failure.
Status make_directory(const std::filesystem::path& path) {
  std::error_code failure;
  if (path.empty() || std::filesystem::is_directory(path, failure)) {
    return ok_status();
  }
  auto above = make_directory(path.parent_path());
  if (!above) {
    return above;
  }
  if (::mkdir(path.c_str(), S_IRWXU | S_IRGRP | S_IXGRP) != 0 && errno != EEXIST) {
    return file_error("make directory", path.string());
  }
  return sync_directory(path.has_parent_path() ? path.parent_path().string() : ".");
}

}  // namespace

Result<SnapshotDirectory> SnapshotDirectory::open(std::string path, std::size_t keep) {
  RUBATO_CHECK(keep >= 1);
  const auto made = make_directory(path);
  if (!made) {
    return made.error();
  }
  SnapshotDirectory directory(std::move(path), keep);
  const auto scanned = directory.scan();
  if (!scanned) {
    return scanned.error();
  }
  return directory;
}

// Lists the snapshots and removes unfinished ones.
Status SnapshotDirectory::scan() {
  std::error_code failure;
  std::filesystem::directory_iterator entries(path_, failure);
  for (; !failure && entries != std::filesystem::directory_iterator{}; entries.increment(failure)) {
    const std::string name = entries->path().filename().string();
    if (const auto number = number_in(name)) {
      files_.push_back({.number = *number, .name = name});
    } else if (name.starts_with(kPrefix) && name.ends_with(kUnfinished)) {
      ::unlink(entries->path().c_str());  // One that stays takes room and does no other harm.
    }
  }
  if (failure) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("cannot list '{}': {}", path_, failure.message())};
  }
  std::ranges::sort(files_, {},
                    [](const StoredFile& file) { return std::tie(file.number, file.name); });
  return ok_status();
}

std::string SnapshotDirectory::path_of(const std::string& name) const { return path_ + "/" + name; }

// Reads and checks a file, and remembers whether it is good.
Result<StoredSnapshot> SnapshotDirectory::read(StoredFile& file) const {
  StoredSnapshot stored{.path = path_of(file.name)};
  auto bytes = read_all(stored.path);
  const auto decoded = bytes ? decode_snapshot(*bytes) : Result<Snapshot>(bytes.error());
  file.health = decoded ? Health::Good : Health::Bad;
  if (!decoded) {
    return decoded.error();
  }
  stored.cursor = decoded->cursor;
  stored.bytes = std::move(*bytes);
  return stored;
}

// Writes a file that appears under its name only when it is whole.
Status SnapshotDirectory::write_whole(const std::string& name,
                                      std::span<const std::byte> bytes) const {
  const std::string unfinished = path_of(name + std::string(kUnfinished));
  auto written = write_and_sync(unfinished, bytes);
  if (written && ::rename(unfinished.c_str(), path_of(name).c_str()) != 0) {
    written = file_error("rename", unfinished);
  }
  if (!written) {
    ::unlink(unfinished.c_str());
  }
  return written;
}

Result<std::string> SnapshotDirectory::write(std::span<const std::byte> snapshot) {
  const auto decoded = decode_snapshot(snapshot);
  if (!decoded) {
    return bad_input("refused to store bytes that are no good snapshot: " +
                     decoded.error().message);
  }
  const std::uint64_t number = files_.empty() ? 1 : files_.back().number + 1;
  const std::string name =
      fmt::format("{}{:06}{}{}", kPrefix, number, kInfix, decoded->cursor.step);
  auto written = write_whole(name, snapshot);
  if (written) {
    files_.push_back({.number = number, .name = name, .health = Health::Good});
    written = sync_directory(path_);
  }
  if (!written) {
    return written.error();
  }
  remove_oldest();
  return path_of(name);
}

// Removes all but the newest good snapshots. A file that nobody has looked at is read first: a bad
// one must not count as something to fall back on.
void SnapshotDirectory::remove_oldest() {
  std::size_t good = 0;
  for (std::size_t i = files_.size(); i-- > 0;) {
    StoredFile& file = files_[i];
    if (good < keep_ && file.health == Health::Unknown) {
      (void)read(file);
    }
    const bool stays = good < keep_ && file.health == Health::Good;
    good += stays ? 1 : 0;
    // What cannot be removed now is tried again after the next write.
    if (!stays && (::unlink(path_of(file.name).c_str()) == 0 || errno == ENOENT)) {
      files_.erase(files_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

Result<NewestSnapshot> SnapshotDirectory::newest() {
  files_.clear();
  const auto scanned = scan();
  if (!scanned) {
    return scanned.error();
  }
  NewestSnapshot found;
  for (std::size_t i = files_.size(); i-- > 0;) {
    auto stored = read(files_[i]);
    if (stored) {
      found.snapshot = std::move(*stored);
      return found;
    }
    found.warnings.push_back(
        fmt::format("snapshot '{}' is passed over: {}", files_[i].name, stored.error().message));
  }
  return found;
}

}  // namespace rubato
