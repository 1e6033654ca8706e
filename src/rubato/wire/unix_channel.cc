#include "rubato/wire/unix_channel.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <span>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace rubato {
namespace {

// A frame begins with these: its length, and how many descriptors came with its first byte.
struct FrameHead {
  std::uint32_t bytes = 0;
  std::uint32_t descriptors = 0;
};

constexpr std::size_t kReadAtOnce = std::size_t{256} << 10U;

Error io_error(std::string_view what) {
  return Error{.code = ErrorCode::Io, .message = fmt::format("{}: {}", what, std::strerror(errno))};
}

/// Where a socket is. The kernel takes 107 characters; a longer path is said by way of an open
/// directory, which must stay open while the address is used.
struct SocketAddress {
  sockaddr_un name{};
  Descriptor directory{};
};

Result<SocketAddress> address_of(const std::string& path) {
  SocketAddress address;
  address.name.sun_family = AF_UNIX;
  std::string name = path;
  if (path.size() >= sizeof(address.name.sun_path)) {
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    address.directory =
        Descriptor(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));  // NOLINT
    if (!address.directory.is_open()) {
      return io_error(fmt::format("cannot open the directory of the socket {}", path));
    }
    name = fmt::format("/proc/self/fd/{}/{}", address.directory.get(),
                       slash == std::string::npos ? path : path.substr(slash + 1));
  }
  if (name.size() >= sizeof(address.name.sun_path)) {
    return Error{.code = ErrorCode::BadConfig,
                 .message = fmt::format("the name of the socket '{}' is longer than {} characters",
                                        path, sizeof(address.name.sun_path) - 1)};
  }
  std::memcpy(address.name.sun_path, name.c_str(), name.size() + 1);
  return address;
}

// The address as the socket functions want it.
const sockaddr* generic(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.name);  // NOLINT: the sockets interface
}

bool would_block() { return errno == EAGAIN; }

// Room for the descriptors of one message beside its bytes.
using Control = std::array<char, CMSG_SPACE(sizeof(int) * kDescriptorsMax)>;

// Sends some of the bytes; the descriptors go with the first of them. Returns how many went.
Result<std::size_t> send_some(int socket, std::string_view bytes, std::span<const int> lent) {
  iovec part{.iov_base = const_cast<char*>(bytes.data()),  // NOLINT: sendmsg does not write
             .iov_len = bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) Control control{};
  if (!lent.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(lent.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(lent.size_bytes());
    std::memcpy(CMSG_DATA(header), lent.data(), lent.size_bytes());
  }
  while (true) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent >= 0) {
      return static_cast<std::size_t>(sent);
    }
    if (would_block()) {
      pollfd ready{.fd = socket, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return io_error("cannot send");
    }
  }
}

void take_descriptors(msghdr& message, std::vector<Descriptor>& into) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
        into.emplace_back(number);
      }
    }
  }
}

// A listener that was killed leaves its socket behind, where nobody answers.
void remove_left_over(const SocketAddress& address) {
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (probe.is_open() && ::connect(probe.get(), generic(address), sizeof(address.name)) != 0 &&
      errno == ECONNREFUSED) {
    ::unlink(address.name.sun_path);
  }
}

}  // namespace

Result<UnixChannel> UnixChannel::connect(const std::string& path) {
  const auto address = address_of(path);
  if (!address) {
    return address.error();
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open() || ::connect(socket.get(), generic(*address), sizeof(address->name)) != 0) {
    return io_error(fmt::format("cannot connect to {}", path));
  }
  return UnixChannel(std::move(socket));
}

Status UnixChannel::send(std::string_view bytes, const std::vector<int>& descriptors) {
  RUBATO_CHECK(bytes.size() <= kFrameMax && descriptors.size() <= kDescriptorsMax);
  const FrameHead head{.bytes = static_cast<std::uint32_t>(bytes.size()),
                       .descriptors = static_cast<std::uint32_t>(descriptors.size())};
  std::string framed(sizeof(head), '\0');
  std::memcpy(framed.data(), &head, sizeof(head));
  framed += bytes;
  std::span<const int> lent(descriptors);
  std::string_view rest = framed;
  while (!rest.empty()) {
    const auto sent = send_some(socket_.get(), rest, lent);
    if (!sent) {
      return sent.error();
    }
    rest.remove_prefix(*sent);
    lent = {};
  }
  return ok_status();
}

bool UnixChannel::has_room() const {
  pollfd ready{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
  return ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}

Status UnixChannel::read_once(bool& has_more) {
  const std::size_t had = read_.size();
  read_.resize(had + kReadAtOnce);
  iovec part{.iov_base = read_.data() + had, .iov_len = kReadAtOnce};
  alignas(cmsghdr) Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  read_.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
  has_more = got > 0 || (got < 0 && errno == EINTR);
  if (got == 0) {
    is_closed_ = true;
  }
  if (got < 0 && !would_block() && errno != EINTR) {
    is_closed_ = true;
    return io_error("cannot receive");
  }
  if (got > 0) {
    take_descriptors(message, descriptors_);
  }
  return ok_status();
}

Result<std::vector<Frame>> UnixChannel::receive() {
  bool has_more = !is_closed_;
  while (has_more) {
    if (Status status = read_once(has_more); !status) {
      break;
    }
  }
  std::vector<Frame> frames;
  std::size_t at = 0;
  while (read_.size() - at >= sizeof(FrameHead)) {
    FrameHead head;
    std::memcpy(&head, read_.data() + at, sizeof(head));
    if (head.bytes > kFrameMax || head.descriptors > kDescriptorsMax) {
      is_closed_ = true;
      return bad_input(fmt::format("a frame of {} bytes with {} descriptors; at most {} and {}",
                                   head.bytes, head.descriptors, kFrameMax, kDescriptorsMax));
    }
    if (read_.size() - at - sizeof(head) < head.bytes || descriptors_.size() < head.descriptors) {
      break;
    }
    Frame frame{.bytes = read_.substr(at + sizeof(head), head.bytes)};
    const auto lent = descriptors_.begin() + static_cast<std::ptrdiff_t>(head.descriptors);
    frame.descriptors.assign(std::make_move_iterator(descriptors_.begin()),
                             std::make_move_iterator(lent));
    descriptors_.erase(descriptors_.begin(), lent);
    frames.push_back(std::move(frame));
    at += sizeof(head) + head.bytes;
  }
  read_.erase(0, at);
  if (frames.empty() && is_closed_) {
    return Error{.code = ErrorCode::Io, .message = "the other end has closed the connection"};
  }
  return frames;
}

Result<UnixListener> UnixListener::open(std::string path) {
  const auto address = address_of(path);
  if (!address) {
    return address.error();
  }
  remove_left_over(*address);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open() || ::bind(socket.get(), generic(*address), sizeof(address->name)) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return io_error(fmt::format("cannot listen on {}", path));
  }
  return UnixListener(std::move(socket), std::move(path));
}

UnixListener::UnixListener(UnixListener&& other) noexcept
    : socket_(std::move(other.socket_)), path_(std::exchange(other.path_, {})) {}

UnixListener& UnixListener::operator=(UnixListener&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(path_, other.path_);
  return *this;
}

UnixListener::~UnixListener() {
  if (!path_.empty()) {
    ::unlink(path_.c_str());
  }
}

Result<std::vector<UnixChannel>> UnixListener::accept() {
  std::vector<UnixChannel> channels;
  while (true) {
    Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.is_open()) {
      channels.emplace_back(std::move(socket));
    } else if (would_block()) {
      return channels;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return io_error("cannot accept a connection");
    }
  }
}

}  // namespace rubato
