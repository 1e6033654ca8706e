#include "rubato/wire/timestamp.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

namespace rubato {
namespace {

using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
constexpr std::int32_t kNanosPerMicro = 1'000;
constexpr std::int32_t kNanosMax = 999'999'999;

}  // namespace

std::optional<Timestamp> to_timestamp(Instant moment) {
  const std::int64_t micros = moment.time_since_epoch().count();
  std::int64_t seconds = micros / kMicrosPerSecond;
  std::int64_t rest = micros % kMicrosPerSecond;
  if (rest < 0) {
    rest += kMicrosPerSecond;
    --seconds;
  }
  if (seconds < TimeUtil::kTimestampMinSeconds || seconds > TimeUtil::kTimestampMaxSeconds) {
    return std::nullopt;
  }
  Timestamp timestamp;
  timestamp.set_seconds(seconds);
  timestamp.set_nanos(static_cast<std::int32_t>(rest) * kNanosPerMicro);
  return timestamp;
}

Result<Instant> from_timestamp(const Timestamp& timestamp) {
  if (timestamp.seconds() < TimeUtil::kTimestampMinSeconds ||
      timestamp.seconds() > TimeUtil::kTimestampMaxSeconds || timestamp.nanos() < 0 ||
      timestamp.nanos() > kNanosMax) {
    return bad_input(fmt::format("a time of {} seconds and {} nanoseconds is out of range",
                                 timestamp.seconds(), timestamp.nanos()));
  }
  return Instant{
      Duration{timestamp.seconds() * kMicrosPerSecond + timestamp.nanos() / kNanosPerMicro}};
}

}  // namespace rubato
