#include "rubato/engine/record/journal_speeds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

namespace rubato {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"speed", "profile", "time", "epoch"};
constexpr std::array<std::string_view, 3> kProvenances = {"measured", "modelled", "assumed"};
constexpr std::array<std::string_view, 4> kSpanWords = {"any", "node", "rack", "across"};

struct ProfileLine {
  ProfileKey key{};
  int local_max = 0;
};

struct EpochLine {
  int batch = 0;
  Epoch epoch{};
};

// The fields of each line, once for writing (const) and reading.

void fields(auto& line, Is<SpeedRow> auto& row) {
  line.field("gpu_type", row.gpu_type);
  line.field("model", row.model);
  line.field("batch", row.batch);
  line.field("gpus", row.gpus);
  line.field("speed", row.speed);
  line.choice("provenance", row.provenance, kProvenances);
  std::size_t span = row.span ? 1 + static_cast<std::size_t>(*row.span) : 0;
  line.choice("span", span, kSpanWords);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(row)>>) {
    row.span = span == 0 ? std::nullopt : std::optional(static_cast<Locality>(span - 1));
  }
}

void fields(auto& line, Is<ProfileLine> auto& profile) {
  line.field("model", profile.key.first);
  line.field("gpu_type", profile.key.second);
  line.field("local_max", profile.local_max);
}

void fields(auto& line, Is<StepTime> auto& time) {
  line.field("nodes", time.nodes);
  line.field("gpus", time.gpus);
  line.field("pattern", time.pattern);
  line.field("local_batch", time.local_batch);
  line.field("step_seconds", time.step_seconds);
  line.field("sync_seconds", time.sync_seconds);
}

void fields(auto& line, Is<EpochLine> auto& each) {
  line.field("batch", each.batch);
  line.field("progress", each.epoch.progress);
  line.field("steps", each.epoch.steps);
  line.field("squared", each.epoch.noise.squared);
  line.field("variance", each.epoch.noise.variance);
}

std::string speed_line(std::string_view word, const auto& entry) {
  LineWriter line(word);
  fields(line, entry);
  return std::move(line).text() + "\n";
}

bool is_amount(double number) { return std::isfinite(number) && number >= 0; }

// What can be measured; a damaged journal may say anything.

bool is_sensible(const SpeedRow& row) {
  return row.batch >= 0 && row.gpus >= 1 && is_amount(row.speed) && row.speed > 0;
}

bool is_sensible(const StepTime& time) {
  std::int64_t workers = 0;
  for (const int on_node : time.pattern) {
    workers += std::max(on_node, 0);
  }
  const bool fits = time.pattern.empty() ||
                    (workers == time.gpus && std::ranges::min(time.pattern) >= 1 &&
                     time.pattern.size() == static_cast<std::size_t>(std::max(time.nodes, 0)));
  return fits && time.nodes >= 1 && time.gpus >= time.nodes && time.local_batch >= 1 &&
         is_amount(time.step_seconds) && time.step_seconds > 0 && is_amount(time.sync_seconds) &&
         time.sync_seconds <= time.step_seconds;
}

bool is_sensible(const EpochLine& line, const std::vector<Epoch>& before) {
  const Epoch last = before.empty() ? Epoch{} : before.back();
  const Epoch& epoch = line.epoch;
  return line.batch >= 1 && is_amount(epoch.progress) && epoch.progress > last.progress &&
         is_amount(epoch.steps) && epoch.steps >= last.steps && is_amount(epoch.noise.squared) &&
         is_amount(epoch.noise.variance);
}

std::string impossible(std::string_view word) {
  return fmt::format("{}: numbers that cannot have been measured", word);
}

}  // namespace

JournalSpeeds JournalSpeeds::of(const SpeedBook& book) {
  JournalSpeeds speeds{.rows = book.rows()};
  for (const auto& [key, profile] : book.profiles()) {
    speeds.profiles.emplace(key, profile.data());
  }
  return speeds;
}

SpeedBook JournalSpeeds::book(const Topology& topology) const {
  SpeedBook book(rows, topology);
  for (const auto& [key, data] : profiles) {
    book.add(key.first, key.second, ApplicationProfile(data));
  }
  return book;
}

std::string speed_lines(const JournalSpeeds& speeds) {
  std::string lines;
  for (const SpeedRow& row : speeds.rows) {
    lines += speed_line("speed", row);
  }
  for (const auto& [key, data] : speeds.profiles) {
    lines += speed_line("profile", ProfileLine{.key = key, .local_max = data.local_max});
    for (const StepTime& time : data.times) {
      lines += speed_line("time", time);
    }
    for (const auto& [batch, epochs] : data.epochs) {
      for (const Epoch& epoch : epochs) {
        lines += speed_line("epoch", EpochLine{.batch = batch, .epoch = epoch});
      }
    }
  }
  return lines;
}

bool SpeedLinesReader::knows(std::string_view word) {
  return std::ranges::find(kWords, word) != kWords.end();
}

std::string SpeedLinesReader::take(std::string_view word, LineReader& line, JournalSpeeds& speeds) {
  if (word == "speed") {
    SpeedRow row;
    fields(line, row);
    const std::string problem = line.problem();
    speeds.rows.push_back(row);
    return !problem.empty() || is_sensible(row) ? problem : impossible(word);
  }
  if (word == "profile") {
    std::string unfinished = missing(speeds);
    ProfileLine profile;
    fields(line, profile);
    const std::string problem = line.problem();
    if (!unfinished.empty() || !problem.empty()) {
      return unfinished.empty() ? problem : unfinished;
    }
    current_ = profile.key;
    has_profile_ = true;
    const bool is_new =
        speeds.profiles.emplace(current_, ProfileData{.local_max = profile.local_max}).second;
    return is_new && profile.local_max >= 0 ? "" : "profile: given twice or with a negative limit";
  }
  if (!has_profile_) {
    return fmt::format("{}: before any profile", word);
  }
  ProfileData& data = speeds.profiles.at(current_);
  if (word == "time") {
    StepTime time;
    fields(line, time);
    const std::string problem = line.problem();
    data.times.push_back(time);
    return !problem.empty() || is_sensible(time) ? problem : impossible(word);
  }
  EpochLine epoch;
  fields(line, epoch);
  const std::string problem = line.problem();
  std::vector<Epoch>& epochs = data.epochs[epoch.batch];
  const bool sensible = is_sensible(epoch, epochs);
  epochs.push_back(epoch.epoch);
  return !problem.empty() || sensible ? problem : impossible(word);
}

std::string SpeedLinesReader::missing(const JournalSpeeds& speeds) const {
  return has_profile_ && speeds.profiles.at(current_).times.empty()
             ? fmt::format("profile of '{}' on '{}' has no times", current_.first, current_.second)
             : std::string{};
}

}  // namespace rubato
