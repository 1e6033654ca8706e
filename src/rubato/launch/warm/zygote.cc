#include "rubato/launch/warm/zygote.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rubato/base/parse.h"

namespace rubato {
namespace {

// What a socket's buffer takes at once, with room to spare: then a send never waits.
constexpr std::size_t kRequestMax = std::size_t{96} << 10U;

// Fields, each ended by a zero byte: what commands and environments consist of has none inside.
std::string message(const std::vector<std::string>& fields) {
  std::string bytes;
  for (const std::string& field : fields) {
    bytes += field;
    bytes += '\0';
  }
  return bytes;
}

std::vector<std::string> fields_of(std::string_view bytes) {
  std::vector<std::string> fields;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    fields.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return fields;
}

// `start`, then in this order what class Request of the server reads.
std::vector<std::string> start_fields(const ZygoteRequest& request) {
  const ProcessSpec& spec = request.process;
  std::string limits;
  for (const ResourceLimit& limit : spec.limits) {
    // Python writes "no limit" as -1.
    limits += fmt::format("{} {} {} ", limit.resource, static_cast<std::int64_t>(limit.soft),
                          static_cast<std::int64_t>(limit.hard));
  }
  std::vector<std::string> fields{
      "start",
      std::to_string(request.token),
      spec.directory.empty() ? "." : spec.directory,
      request.cgroup,
      spec.nice ? std::to_string(*spec.nice) : "",
      spec.group == ProcessGroup::OwnSession ? "1" : "0",
      spec.session_nice ? std::to_string(*spec.session_nice) : "",
      fmt::format("{}", fmt::join(spec.cpus, " ")),
      limits,
      std::to_string(request.script),
      std::to_string(spec.argv.size()),
  };
  fields.insert(fields.end(), spec.argv.begin(), spec.argv.end());
  const std::vector<std::string> environment = assignments(spec.environment);
  fields.insert(fields.end(), environment.begin(), environment.end());
  return fields;
}

std::int64_t number(const std::vector<std::string>& fields, std::size_t at) {
  return at < fields.size() ? parse_int(fields[at]).value_or(-1) : -1;
}

// Gone, which ends the zygote, stands for everything that no zygote of ours says.
ZygoteNews news_of(Frame frame) {
  const std::vector<std::string> fields = fields_of(frame.bytes);
  const std::string verb = fields.empty() ? "" : fields.front();
  if (verb == "ready") {
    return {.word = ZygoteWord::Ready};
  }
  if (verb == "unfit" && fields.size() == 2) {
    return {.word = ZygoteWord::Unfit, .why = fields[1]};
  }
  if (verb == "refused" && fields.size() == 3) {
    return {.word = ZygoteWord::Refused,
            .token = static_cast<std::uint64_t>(number(fields, 1)),
            .why = fields[2]};
  }
  if (verb == "started" && fields.size() == 3 && frame.descriptors.size() == 1) {
    return {.word = ZygoteWord::Started,
            .token = static_cast<std::uint64_t>(number(fields, 1)),
            .pid = static_cast<pid_t>(number(fields, 2)),
            .pidfd = std::move(frame.descriptors.front())};
  }
  if (verb == "ended" && fields.size() == 4) {
    const int value = static_cast<int>(number(fields, 3));
    return {
        .word = ZygoteWord::Ended,
        .pid = static_cast<pid_t>(number(fields, 1)),
        .status = fields[2] == "code" ? ExitStatus{.code = value} : ExitStatus{.signal = value}};
  }
  return {.why = fmt::format("it says '{}', which has no meaning", verb)};
}

}  // namespace

Result<Zygote> Zygote::start(const ZygoteSpec& spec) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("no socket for a zygote: {}", std::strerror(errno))};
  }
  UnixChannel channel{Descriptor(sockets[0])};
  const Descriptor theirs(sockets[1]);
  const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ProcessSpec process{.argv = {spec.key.interpreter},
                      .environment = spec.environment,
                      .directory = "/",
                      .output = nowhere.get(),
                      .errors = nowhere.get(),
                      .kept = {theirs.get()},
                      .guard = spec.guard};
  process.argv.insert(process.argv.end(), spec.key.flags.begin(), spec.key.flags.end());
  process.argv.insert(process.argv.end(),
                      {"-c", std::string(zygote_text()), std::to_string(theirs.get())});
  process.argv.insert(process.argv.end(), spec.modules.begin(), spec.modules.end());
  // It would start its threads when it is loaded; the children set what they want.
  process.environment["OPENBLAS_NUM_THREADS"] = "1";
  process.environment.erase("RUBATO_SCRIPT");  // Its children run scripts; it does not.
  auto started = Process::start(process);
  if (!started) {
    return started.error();
  }
  return Zygote(std::move(*started), std::move(channel));
}

Status Zygote::request(const ZygoteRequest& request) {
  const std::string bytes = message(start_fields(request));
  if (bytes.size() > kRequestMax) {
    return bad_input(
        fmt::format("command and environment have {} bytes, more than the {} that a "
                    "zygote takes",
                    bytes.size(), kRequestMax));
  }
  return channel_.send(bytes, {request.process.output, request.process.errors});
}

// Whether it is still there is told by `receive`.
void Zygote::go() { (void)channel_.send(message({"go"})); }

void Zygote::reap(pid_t pid) { (void)channel_.send(message({"reap", std::to_string(pid)})); }

std::vector<ZygoteNews> Zygote::receive() {
  std::vector<ZygoteNews> news;
  auto frames = channel_.receive();
  if (!frames) {
    news.push_back({.why = frames.error().message});
    return news;
  }
  for (Frame& frame : *frames) {
    news.push_back(news_of(std::move(frame)));
  }
  return news;
}

}  // namespace rubato
