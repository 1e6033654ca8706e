#include "rubato/cli/text/moment_text.h"

#include <array>
#include <chrono>

#include <fmt/format.h>

#include "rubato/spec/duration_text.h"

namespace rubato {
namespace {

using std::chrono::days;

constexpr Duration kNear = std::chrono::minutes(20);
constexpr std::array<std::string_view, 7> kWeekdays = {"Sun", "Mon", "Tue", "Wed",
                                                       "Thu", "Fri", "Sat"};

}  // namespace

Instant instant_from(const google::protobuf::Timestamp& moment) {
  return Instant{std::chrono::seconds(moment.seconds()) + Duration{moment.nanos() / 1'000}};
}

google::protobuf::Timestamp timestamp_from(Instant moment) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(moment.time_since_epoch());
  google::protobuf::Timestamp made;
  made.set_seconds(whole.count());
  made.set_nanos(static_cast<std::int32_t>((moment.time_since_epoch() - whole).count() * 1'000));
  return made;
}

std::string moment_text(Instant moment, const WallClock& clock) {
  const Duration local = moment.time_since_epoch() + clock.zone(moment);
  const auto date = std::chrono::floor<days>(local);
  const auto today = std::chrono::floor<days>(clock.now.time_since_epoch() + clock.zone(clock.now));
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(local - date));
  const Duration away = moment > clock.now ? moment - clock.now : clock.now - moment;
  std::string text = fmt::format("{:02}:{:02}", time.hours().count(), time.minutes().count());
  if (away < kNear) {
    text += fmt::format(":{:02}", time.seconds().count());
  }
  if (date == today) {
    return text;
  }
  if (date > today - days(7) && date < today + days(7)) {
    const std::chrono::weekday day{std::chrono::sys_days(date)};
    return fmt::format("{} {}", kWeekdays[day.c_encoding()], text);
  }
  const std::chrono::year_month_day parts{std::chrono::sys_days(date)};
  return fmt::format("{:04}-{:02}-{:02} {}", static_cast<int>(parts.year()),
                     static_cast<unsigned>(parts.month()), static_cast<unsigned>(parts.day()),
                     text);
}

std::string moment_text(const google::protobuf::Timestamp& moment, const WallClock& clock) {
  return moment_text(instant_from(moment), clock);
}

std::string deadline_flag_text(Instant moment, const WallClock& clock) {
  if (moment > clock.now && moment - clock.now < kNear) {
    return duration_text(std::chrono::ceil<std::chrono::seconds>(moment - clock.now));
  }
  const Instant rounded{std::chrono::ceil<std::chrono::minutes>(moment.time_since_epoch())};
  const Duration local = rounded.time_since_epoch() + clock.zone(rounded);
  const std::chrono::hh_mm_ss time(
      std::chrono::floor<std::chrono::seconds>(local - std::chrono::floor<days>(local)));
  const std::string text = fmt::format("{:02}:{:02}", time.hours().count(), time.minutes().count());
  // Whoever pastes it may do so some minutes from now; it must still mean the same.
  const auto meant = resolve_deadline(text, {.now = clock.now + kNear, .zone = clock.zone});
  const auto meant_now = resolve_deadline(text, clock);
  const bool is_sure = meant && meant_now && *meant == rounded && *meant_now == rounded;
  return is_sure ? text : rfc3339_text(rounded);
}

}  // namespace rubato
