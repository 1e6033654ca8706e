// What all readers of one fixed format share: numbering, problems, giving up.
#pragma once

#include <cstdint>

#include "rubato/trace/read/reader.h"
#include "rubato/trace/text/problems.h"

namespace rubato {

/// Largest time in a trace, in seconds: 126 years. Below it, seconds written with six decimals
/// come back as the same microsecond, and a trace in milliseconds is found out.
inline constexpr double kSecondsMax = 4e9;
/// Most GPUs one job may ask for.
inline constexpr int kGpusMax = 1 << 20;

/// Microseconds nearest to `seconds`, exact for every six-decimal number up to kSecondsMax.
[[nodiscard]] Duration exact_seconds(double seconds);

class RecordReader : public Reader {
 public:
  explicit RecordReader(ReaderSetup setup);

  void feed(std::string_view chunk) final;
  Status finish() final;

 protected:
  virtual void on_bytes(std::string_view chunk) = 0;
  virtual void on_end() = 0;

  /// Passes the job on and counts it.
  void emit(Job&& job, std::uint64_t line);
  [[nodiscard]] Problems& problems() { return problems_; }
  [[nodiscard]] std::uint64_t emitted() const { return emitted_; }

 private:
  JobSink jobs_;
  Problems problems_;
  std::uint64_t emitted_ = 0;
};

}  // namespace rubato
