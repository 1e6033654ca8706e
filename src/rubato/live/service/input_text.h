// An input of the controller as people read it.
#pragma once

#include <string>

#include "rubato/wire/journal.pb.h"

namespace rubato {

/// One clause without a full stop, such as `job 7 was submitted by ann`.
[[nodiscard]] std::string input_text(const wire::JournalInput& input);

}  // namespace rubato
