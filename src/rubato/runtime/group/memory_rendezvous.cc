#include "rubato/runtime/group/memory_rendezvous.h"

#include <fmt/format.h>

namespace rubato {

Status MemoryRendezvous::set(std::string_view key, std::string_view value) {
  {
    const std::lock_guard lock(mutex_);
    values_.insert_or_assign(std::string(key), std::string(value));
  }
  changed_.notify_all();
  return ok_status();
}

Result<std::string> MemoryRendezvous::get(std::string_view key, Duration patience) {
  std::unique_lock lock(mutex_);
  const auto is_there = [this, key] { return values_.find(key) != values_.end(); };
  if (!changed_.wait_for(lock, patience, is_there)) {
    return Error{
        .code = ErrorCode::NotFound,
        .message = fmt::format("rendezvous: nobody set {} within {} s", key, to_seconds(patience))};
  }
  return values_.find(key)->second;
}

}  // namespace rubato
