// What an engine knows about speed, as lines of a journal: they follow the header, so that a
// journal by itself brings the same engine back.
//
//   speed gpu_type=T4 model=net batch=20 gpus=1 speed=0.5 provenance=measured span=any
//   profile model=net gpu_type=T4 local_max=0
//   time nodes=1 gpus=1 pattern=1 local_batch=10 step_seconds=1 sync_seconds=0
//   epoch batch=20 progress=40 steps=40 squared=1 variance=3
//
// Times and epochs belong to the profile before them; epochs of one batch come in their order.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/core/topology.h"
#include "rubato/engine/record/journal_text.h"
#include "rubato/predict/profile_rows.h"
#include "rubato/predict/speed_book.h"

namespace rubato {

struct JournalSpeeds {
  std::vector<SpeedRow> rows{};
  std::map<ProfileKey, ProfileData> profiles{};

  [[nodiscard]] static JournalSpeeds of(const SpeedBook& book);
  /// Every profile has times.
  [[nodiscard]] SpeedBook book(const Topology& topology) const;
};

[[nodiscard]] std::string speed_lines(const JournalSpeeds& speeds);

/// Puts the lines together again.
class SpeedLinesReader {
 public:
  [[nodiscard]] static bool knows(std::string_view word);

  /// Takes a line that starts with a word it knows; the problem, if there is one.
  [[nodiscard]] std::string take(std::string_view word, LineReader& line, JournalSpeeds& speeds);
  /// What is missing after the last line; empty if nothing is.
  [[nodiscard]] std::string missing(const JournalSpeeds& speeds) const;

 private:
  ProfileKey current_;
  bool has_profile_ = false;
};

}  // namespace rubato
