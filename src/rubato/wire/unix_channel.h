// Frames over a Unix socket: a length, that many bytes of a message, and descriptors beside them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// Longest frame either side accepts.
constexpr std::size_t kFrameMax = std::size_t{64} << 20U;
/// Most descriptors beside one frame; the kernel takes 253.
constexpr std::size_t kDescriptorsMax = 250;

/// One message as it travels.
struct Frame {
  std::string bytes{};
  std::vector<Descriptor> descriptors{};
};

/// One end of a connection. Sends whole frames and never raises SIGPIPE; reads without blocking.
class UnixChannel {
 public:
  explicit UnixChannel(Descriptor socket) : socket_(std::move(socket)) {}

  [[nodiscard]] static Result<UnixChannel> connect(const std::string& path);

  [[nodiscard]] int descriptor() const { return socket_.get(); }

  /// Blocks until the kernel has taken all of it. Descriptors are lent.
  [[nodiscard]] Status send(std::string_view bytes, const std::vector<int>& descriptors = {});

  /// True if a short frame would not block now.
  [[nodiscard]] bool has_room() const;

  /// Frames that have arrived, in order; an error once the other end has closed and all frames
  /// before that were handed out.
  [[nodiscard]] Result<std::vector<Frame>> receive();

 private:
  [[nodiscard]] Status read_once(bool& has_more);

  Descriptor socket_;
  std::string read_{};                     // Bytes of frames that are not whole yet.
  std::vector<Descriptor> descriptors_{};  // Received beside them.
  bool is_closed_ = false;
};

/// A socket that workers connect to; the path is removed with it.
class UnixListener {
 public:
  [[nodiscard]] static Result<UnixListener> open(std::string path);

  UnixListener(UnixListener&& other) noexcept;
  UnixListener& operator=(UnixListener&& other) noexcept;
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;
  ~UnixListener();

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// A connection that waits, or an empty channel list if there is none.
  [[nodiscard]] Result<std::vector<UnixChannel>> accept();

 private:
  UnixListener(Descriptor socket, std::string path)
      : socket_(std::move(socket)), path_(std::move(path)) {}

  Descriptor socket_;
  std::string path_;
};

}  // namespace rubato
