// What a worker must be handed to stand where the others stand, beside the parameters in its arena.
#pragma once

#include <string>
#include <string_view>

#include "rubato/base/result.h"

namespace rubato {

/// The training program's own state: optimizer, learning-rate schedule and whatever else it keeps.
class TrainingState {
 public:
  TrainingState() = default;
  TrainingState(const TrainingState&) = delete;
  TrainingState& operator=(const TrainingState&) = delete;
  virtual ~TrainingState() = default;

  /// All of it, as bytes that `load` of another worker understands.
  [[nodiscard]] virtual Result<std::string> save() = 0;
  /// Takes over the state of another worker; the parameters in the arena are in place already.
  [[nodiscard]] virtual Status load(std::string_view bytes) = 0;
};

}  // namespace rubato
