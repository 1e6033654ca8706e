// Reads a trace of unknown format: holds the first line back, then becomes the right reader.
#pragma once

#include <cstddef>
#include <memory>

#include "rubato/trace/read/reader.h"

namespace rubato {

/// The format must show within this many bytes.
inline constexpr std::size_t kDetectBytesMax = 64 * 1024;

[[nodiscard]] std::unique_ptr<Reader> make_auto_reader(ReaderSetup setup);

}  // namespace rubato
