// Many descriptors and an alarm clock behind one descriptor.
#pragma once

#include <chrono>

#include "rubato/base/result.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// Is readable while any of its descriptors is, or when its alarm has gone off. A descriptor that
/// is closed leaves by itself.
class Watch {
 public:
  [[nodiscard]] static Result<Watch> open();

  [[nodiscard]] int descriptor() const { return epoll_.get(); }

  void add(int descriptor);
  void remove(int descriptor);
  /// Also for the moment when it can be written to. A file always can, and is not watched.
  void add_writable(int descriptor);

  /// Goes off once, after this time; replaces the alarm before.
  void wake_in(std::chrono::nanoseconds time);
  void hush();

 private:
  Watch(Descriptor epoll, Descriptor timer) : epoll_(std::move(epoll)), timer_(std::move(timer)) {}

  Descriptor epoll_;
  Descriptor timer_;
};

}  // namespace rubato
