// How much a client of the HTTP server may ask of it: everything that grows or waits has an end.
#pragma once

#include <chrono>
#include <cstddef>

namespace rubato {

struct HttpLimits {
  std::size_t head_bytes_max = 16 * 1024;
  std::size_t body_bytes_max = 1024 * 1024;
  std::size_t connections_max = 1024;
  std::size_t streams_max = 256;
  std::chrono::milliseconds idle = std::chrono::seconds(75);  // Between two requests.
  std::chrono::milliseconds head = std::chrono::seconds(10);  // Also for the TLS handshake.
  std::chrono::milliseconds body = std::chrono::seconds(30);
  std::chrono::milliseconds write =
      std::chrono::seconds(20);  // A reader that is slower is dropped.
  std::chrono::milliseconds linger = std::chrono::seconds(1);  // For the client to read the last.
  std::chrono::milliseconds grace = std::chrono::seconds(5);   // For answers under way at the stop.
};

}  // namespace rubato
