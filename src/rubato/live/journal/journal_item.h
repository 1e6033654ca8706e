// What the journal keeps: inputs of the controller in their order, and what came with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/wire/journal.pb.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

/// A request that may come twice, and the job it made the first time.
struct SubmissionKey {
  std::string user{};
  std::string key{};
  std::uint64_t job = 0;
  std::string spec_hash{};

  friend bool operator==(const SubmissionKey&, const SubmissionKey&) = default;
};

/// One input, as it is replayed.
struct JournalRecord {
  std::uint64_t sequence = 0;  // From 1, without gaps; set by append().
  Instant at{};
  wire::JournalInput input{};
  std::string commands{};  // What the engine answered; a replay must answer the same.
};

/// One input and all that becomes durable with it.
struct JournalItem {
  JournalRecord record{};
  std::vector<wire::EventRecord> events{};  // Their sequence is set by append().
  std::optional<SubmissionKey> key{};
};

/// The controller's state after all inputs up to `sequence`.
struct JournalCheckpoint {
  std::uint64_t sequence = 0;
  std::string bytes{};
};

}  // namespace rubato
