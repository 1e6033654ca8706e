// The trace formats we read, by name; `auto` finds out from the first line.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/trace/read/reader.h"

namespace rubato {

struct TraceFormat {
  std::string_view name{};
  std::string_view summary{};
  std::unique_ptr<Reader> (*make)(ReaderSetup) = nullptr;
};

/// All formats except `auto`.
[[nodiscard]] std::span<const TraceFormat> trace_formats();

/// A reader of the named format or `auto`; the error suggests the nearest name.
[[nodiscard]] Result<std::unique_ptr<Reader>> make_reader(std::string_view format,
                                                          ReaderSetup setup);

}  // namespace rubato
