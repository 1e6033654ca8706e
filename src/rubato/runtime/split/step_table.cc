#include "rubato/runtime/split/step_table.h"

#include <algorithm>

#include "rubato/base/check.h"

namespace rubato::runtime::split {
namespace {

float* moved(float* begin, std::size_t floats) {
  return begin == nullptr ? nullptr : begin + floats;
}

std::uint32_t piece_floats(const StepEntry& entry, std::size_t begin) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(kPieceFloats, entry.floats - begin));
}

}  // namespace

std::size_t StepTable::piece_count(std::span<const StepEntry> entries) {
  std::size_t count = 0;
  for (const StepEntry& entry : entries) {
    count += (entry.floats + kPieceFloats - 1) / kPieceFloats;
  }
  return count;
}

StepTable::StepTable(std::span<const StepEntry> entries, std::span<StepPiece> memory)
    : entries_(entries.size()) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t begin = 0; begin < entries[i].floats; begin += kPieceFloats) {
      sources_.push_back({.entry = i, .begin = begin});
    }
    floats_ += entries[i].floats;
  }
  std::ranges::stable_sort(sources_, std::ranges::greater{}, [&](const Source& source) {
    return piece_floats(entries[source.entry], source.begin);
  });
  if (memory.empty()) {
    own_.resize(sources_.size());
    pieces_ = own_;
  } else {
    RUBATO_CHECK(memory.size() >= sources_.size());
    pieces_ = memory.first(sources_.size());
  }
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const StepEntry& entry = entries[sources_[i].entry];
    const std::size_t begin = sources_[i].begin;
    pieces_[i] = {.parameter = moved(entry.parameter, begin),
                  .gradient = moved(entry.gradient, begin),
                  .first = moved(entry.first, begin),
                  .second = moved(entry.second, begin),
                  .area_begin = entry.area_begin + begin,
                  .floats = piece_floats(entry, begin),
                  .settings = entry.settings};
  }
}

void StepTable::set_gradients(std::span<float* const> gradients) {
  RUBATO_CHECK(gradients.size() == entries_);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    pieces_[i].gradient = moved(gradients[sources_[i].entry], sources_[i].begin);
  }
}

}  // namespace rubato::runtime::split
