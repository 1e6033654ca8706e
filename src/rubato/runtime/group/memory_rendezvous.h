// A rendezvous for workers that are threads of one process.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "rubato/runtime/group/rendezvous.h"

namespace rubato {

/// Keeps the table in memory.
class MemoryRendezvous final : public Rendezvous {
 public:
  [[nodiscard]] Status set(std::string_view key, std::string_view value) override;
  [[nodiscard]] Result<std::string> get(std::string_view key, Duration patience) override;

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::map<std::string, std::string, std::less<>> values_{};
};

}  // namespace rubato
