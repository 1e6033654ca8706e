#include "rubato/live/agent/conduct_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

namespace rubato {
namespace {

Environment conduct_environment() {
  Environment environment = inherited_environment();
  environment.erase("RUBATO_TOKEN");  // It is the controller's.
  return environment;
}

// The kernel then takes a frame of a few kilobytes at once.
bool takes_frames(int socket) {
  pollfd ready{.fd = socket, .events = POLLOUT, .revents = 0};
  return ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}

}  // namespace

ConductProcess::~ConductProcess() {
  if (process_) {
    process_->release();
  }
}

Status ConductProcess::start(const std::string& program) {
  const auto lock = files_.try_lock();
  if (!lock) {
    return ok_status();
  }
  files_.clear_ended();
  const Descriptor log(
      ::open(files_.conduct_log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log.is_open()) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("cannot write {}", files_.conduct_log())};
  }
  // It has the lock from its first moment on: if we die now, the next agent finds it.
  auto process = Process::start(
      {.argv = {program, "conduct", files_.directory(), "--lock", std::to_string(lock->get())},
       .environment = conduct_environment(),
       .directory = files_.directory(),
       .output = log.get(),
       .errors = log.get(),
       .kept = {lock->get()},
       .group = ProcessGroup::OwnSession});
  if (!process) {
    return process.error();
  }
  process_.emplace(std::move(*process));
  return ok_status();
}

std::optional<int> ConductProcess::descriptor() const {
  return line_ ? std::optional(line_->descriptor()) : std::nullopt;
}

bool ConductProcess::connect() {
  if (line_) {
    return false;
  }
  auto line = UnixChannel::connect(files_.socket());
  if (!line) {
    return false;
  }
  line_.emplace(std::move(*line));
  return true;
}

bool ConductProcess::tell(const wire::ToConduct& message) {
  if (line_ && takes_frames(line_->descriptor()) && line_->send(message.SerializeAsString())) {
    return true;
  }
  line_.reset();
  return false;
}

std::vector<wire::FromAgent> ConductProcess::receive() {
  std::vector<wire::FromAgent> words;
  if (!line_) {
    return words;
  }
  auto frames = line_->receive();
  if (!frames) {
    line_.reset();
    return words;
  }
  for (const Frame& frame : *frames) {
    wire::FromAgent word;
    if (word.ParseFromString(frame.bytes)) {
      words.push_back(std::move(word));
    }
  }
  return words;
}

bool ConductProcess::is_gone() {
  if (line_) {
    return false;
  }
  if (process_) {
    if (!process_->poll_exit()) {
      return false;
    }
    process_.reset();
  }
  return files_.try_lock().has_value();
}

}  // namespace rubato
