#include "rubato/job/conduct_files.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

namespace rubato {
namespace {

namespace fs = std::filesystem;

Error file_error(const std::string& path) {
  return Error{.code = ErrorCode::Io,
               .message = fmt::format("cannot write {}: {}", path, std::strerror(errno))};
}

// On disk once it returns.
Status write_synced(const std::string& path, const std::string& text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.is_open()) {
    return file_error(path);
  }
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t some = ::write(file.get(), rest.data(), rest.size());
    if (some < 0 && errno != EINTR) {
      return file_error(path);
    }
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(some, 0)));
  }
  return ::fsync(file.get()) == 0 ? ok_status() : Status(file_error(path));
}

// The name of a file in a directory is itself data of that directory.
void sync_directory(const std::string& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ::fsync(directory.get());
}

Status write_message(const std::string& directory, const std::string& name,
                     const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  RUBATO_CHECK(google::protobuf::util::MessageToJsonString(message, &text, options).ok());
  const std::string path = directory + "/" + name;
  const std::string fresh = path + ".new";
  if (Status written = write_synced(fresh, text); !written) {
    return written;
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    return file_error(path);
  }
  sync_directory(directory);
  return ok_status();
}

template <typename Message>
Result<Message> read_message(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Error{.code = ErrorCode::NotFound, .message = fmt::format("there is no {}", path)};
  }
  std::stringstream text;
  text << file.rdbuf();
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // A newer agent may have written it.
  Message message;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text.str(), &message, options);
  if (!parsed.ok()) {
    return bad_input(fmt::format("{}: {}", path, parsed.ToString()));
  }
  return message;
}

// `12` of `snapshot-12-step-340` and 340; nothing for other names.
std::optional<std::pair<std::uint64_t, std::uint64_t>> numbers_of(const std::string& name) {
  std::uint64_t number = 0;
  std::uint64_t step = 0;
  const std::string_view text = name;
  constexpr std::string_view kBegin = "snapshot-";
  constexpr std::string_view kMiddle = "-step-";
  const std::size_t middle = text.find(kMiddle);
  if (!text.starts_with(kBegin) || middle == std::string_view::npos) {
    return std::nullopt;
  }
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data() + kBegin.size(), text.data() + middle, number);
  const auto second = std::from_chars(text.data() + middle + kMiddle.size(), end, step);
  if (first.ec != std::errc{} || second.ec != std::errc{} || second.ptr != end) {
    return std::nullopt;
  }
  return std::pair{number, step};
}

}  // namespace

Status ConductFiles::prepare() const {
  for (const std::string& path : {logs(), snapshots(), checkpoints(), work()}) {
    std::error_code failure;
    fs::create_directories(path, failure);
    if (failure) {
      return Error{.code = ErrorCode::Io,
                   .message = fmt::format("cannot make {}: {}", path, failure.message())};
    }
  }
  return ok_status();
}

Status ConductFiles::keep_state_in(const std::string& shared) const {
  std::error_code failure;
  fs::create_directories(directory_, failure);
  for (const std::string& path : {logs(), snapshots(), checkpoints()}) {
    const fs::path target = fs::path(shared) / fs::path(path).filename();
    if (!failure && !fs::exists(fs::symlink_status(path, failure))) {
      failure.clear();
      fs::create_directories(target, failure);
      if (!failure) {
        fs::create_directory_symlink(target, path, failure);
      }
    }
  }
  return failure
             ? Status(Error{.code = ErrorCode::Io,
                            .message = fmt::format("cannot use {}: {}", shared, failure.message())})
             : ok_status();
}

Status ConductFiles::write_order(const wire::ConductOrder& order) const {
  return write_message(directory_, "order.json", order);
}

Result<wire::ConductOrder> ConductFiles::read_order() const {
  return read_message<wire::ConductOrder>(directory_ + "/order.json");
}

Status ConductFiles::write_ended(const wire::JobEnded& ended) const {
  return write_message(directory_, "ended.json", ended);
}

Result<wire::JobEnded> ConductFiles::read_ended() const {
  return read_message<wire::JobEnded>(directory_ + "/ended.json");
}

Result<wire::JobEnded> ConductFiles::read_forgotten() const {
  return read_message<wire::JobEnded>(directory_ + "/forgotten.json");
}

void ConductFiles::forget(bool keeps_state) const {
  std::error_code ignored;
  fs::rename(directory_ + "/ended.json", directory_ + "/forgotten.json", ignored);
  if (!keeps_state) {
    for (const std::string& path : {snapshots(), checkpoints(), work(), progress(), notice()}) {
      if (fs::is_symlink(path, ignored)) {
        fs::remove_all(fs::read_symlink(path, ignored), ignored);
      }
      fs::remove_all(path, ignored);
    }
  }
  sync_directory(directory_);
}

void ConductFiles::clear_ended() const {
  std::error_code ignored;
  fs::remove(directory_ + "/ended.json", ignored);
  fs::remove(directory_ + "/forgotten.json", ignored);
}

std::optional<Descriptor> ConductFiles::try_lock() const {
  const std::string path = directory_ + "/lock";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return std::nullopt;
  }
  return file;
}

// Found out by trying: numbers about free space know neither of quotas nor of what is reserved.
bool ConductFiles::is_disk_full() const {
  constexpr std::size_t kProbe = std::size_t{64} << 10U;
  std::error_code ignored;
  const bool is_there = fs::exists(directory_, ignored);  // Perhaps it could not be made.
  const std::string path = is_there ? directory_ + "/room" : directory_ + ".room";
  errno = 0;
  const bool has_room = write_synced(path, std::string(kProbe, '\0')).ok();
  const bool is_full = !has_room && (errno == ENOSPC || errno == EDQUOT);
  ::unlink(path.c_str());
  return is_full;
}

std::uint64_t ConductFiles::newest_snapshot_step() const {
  std::pair<std::uint64_t, std::uint64_t> newest{};
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(snapshots(), failure)) {
    if (const auto numbers = numbers_of(entry.path().filename().string())) {
      newest = std::max(newest, *numbers);
    }
  }
  return newest.second;
}

bool can_go_on(const wire::JobEnded& ended) {
  return ended.outcome() != "finished" && ended.outcome() != "cancelled";
}

}  // namespace rubato
