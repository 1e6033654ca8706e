// What holds for every reader and every input, however broken: checked by tests and fuzzers.
#pragma once

#include <string_view>

namespace rubato {

/// Stops the process if a law is broken: chunk sizes make no difference, jobs are sane, every job
/// survives being written as rubato-trace/2, and an error has a diagnostic to explain it.
void check_reader_laws(std::string_view format, std::string_view text);

}  // namespace rubato
