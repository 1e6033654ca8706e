#include <cstddef>
#include <cstdint>
#include <string>

#include "rubato/trace/reader_laws.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  rubato::check_reader_laws("pollux", text);
  return 0;
}
