// The table by which workers of different hosts find each other, kept outside of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/base/time.h"

namespace rubato {

/// Keys and values shared by all workers of a job; used from any thread.
class Rendezvous {
 public:
  Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  virtual ~Rendezvous() = default;

  [[nodiscard]] virtual Status set(std::string_view key, std::string_view value) = 0;
  /// Waits until someone has set the key, at most so long.
  [[nodiscard]] virtual Result<std::string> get(std::string_view key, Duration patience) = 0;
};

}  // namespace rubato
