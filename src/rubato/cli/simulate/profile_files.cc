#include "rubato/cli/simulate/profile_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "rubato/base/parse.h"
#include "rubato/predict/profile_rows.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kFileBytesMax = std::uintmax_t{64} << 20U;
constexpr std::size_t kEntriesMax = 100'000;  // Files in one folder.
constexpr std::int64_t kBatchMax = 1'000'000'000;

Error unreadable(const fs::path& path, const std::string& why) {
  return Error{.code = ErrorCode::Io,
               .message = fmt::format("{}: cannot be read: {}", path.string(), why)};
}

// The bytes of a file.
Result<std::string> text_of(const fs::path& path) {
  std::error_code failed;
  const std::uintmax_t bytes = fs::file_size(path, failed);
  if (failed) {
    return unreadable(path, failed.message());
  }
  if (bytes > kFileBytesMax) {
    return unreadable(path, fmt::format("more than {} MiB", kFileBytesMax >> 20U));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file) {
    return unreadable(path, std::strerror(errno));
  }
  if (bytes > 0 && !(text << file.rdbuf())) {
    return unreadable(path, "the file breaks off");
  }
  return text.str();
}

// The batches of the files validation-<batch>.csv, rising.
std::vector<int> batches_of(const std::vector<std::string>& names) {
  constexpr std::string_view kStart = "validation-";
  constexpr std::string_view kEnd = ".csv";
  std::vector<int> batches;
  for (const std::string_view name : names) {
    if (name.starts_with(kStart) && name.ends_with(kEnd)) {
      const auto batch = parse_int(name.substr(
          kStart.size(), name.size() - std::min(name.size(), kStart.size() + kEnd.size())));
      if (batch && *batch >= 1 && *batch <= kBatchMax) {
        batches.push_back(static_cast<int>(*batch));
      }
    }
  }
  std::ranges::sort(batches);
  return batches;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::binary_search(names, name);
}

// Step times of placements<ending> and, if it is there, scalability<ending>.
Result<std::vector<StepTime>> read_times(const fs::path& folder,
                                         const std::vector<std::string>& names,
                                         const std::string& ending) {
  const fs::path placements = folder / ("placements" + ending);
  const auto text = text_of(placements);
  if (!text) {
    return text.error();
  }
  auto times = parse_placements(*text, placements.string());
  if (times && times->empty()) {
    return bad_input(fmt::format("{}: no step times", placements.string()));
  }
  if (!times || !has(names, "scalability" + ending)) {
    return times;
  }
  const fs::path scalability = folder / ("scalability" + ending);
  const auto wide_text = text_of(scalability);
  if (!wide_text) {
    return wide_text.error();
  }
  const auto wide = parse_scalability(*wide_text, scalability.string());
  if (!wide) {
    return wide.error();
  }
  std::ranges::copy(*wide, std::back_inserter(*times));
  return times;
}

// The epochs of all validation-<batch>.csv.
Result<std::map<int, std::vector<Epoch>>> read_epochs(const fs::path& folder,
                                                      const std::vector<std::string>& names) {
  std::map<int, std::vector<Epoch>> epochs;
  for (const int batch : batches_of(names)) {
    const fs::path file = folder / fmt::format("validation-{}.csv", batch);
    const auto text = text_of(file);
    if (!text) {
      return text.error();
    }
    auto parsed = parse_epochs(*text, file.string());
    if (!parsed) {
      return parsed.error();
    }
    epochs.emplace(batch, *std::move(parsed));
  }
  return epochs;
}

constexpr std::array kKnownLimits = {KnownLimit{.application = "ncf", .workers_max = 1},
                                     KnownLimit{.application = "yolov3", .local_max = 8}};

// The GPU types of the files placements-<type>.csv, sorted.
std::vector<std::string> types_of(const std::vector<std::string>& names) {
  constexpr std::string_view kStart = "placements-";
  constexpr std::string_view kEnd = ".csv";
  std::vector<std::string> types;
  for (const std::string& name : names) {
    if (name.size() > kStart.size() + kEnd.size() && name.starts_with(kStart) &&
        name.ends_with(kEnd)) {
      types.push_back(name.substr(kStart.size(), name.size() - kStart.size() - kEnd.size()));
    }
  }
  return types;
}

std::string named(const std::string& type) {
  return type.empty() ? "GPUs without a type" : type + " GPUs";
}

/// Reads the files of one application.
class ApplicationFiles {
 public:
  ApplicationFiles(fs::path folder, std::vector<std::string> names)
      : folder_(std::move(folder)), names_(std::move(names)) {}

  /// What ends the name of the files for a GPU type; nothing if neither it nor a default was
  /// measured.
  [[nodiscard]] Result<std::optional<std::string>> ending(const std::string& type) const {
    const std::string own = fmt::format("-{}.csv", type);
    if (!type.empty() && has(names_, "placements" + own)) {
      return std::optional(own);
    }
    if (!type.empty() && has(names_, "scalability" + own)) {
      return bad_input(fmt::format("{}: placements{} is missing beside it",
                                   (folder_ / ("scalability" + own)).string(), own));
    }
    return has(names_, "placements.csv") ? std::optional<std::string>(".csv") : std::nullopt;
  }

  [[nodiscard]] Result<ApplicationProfile> read(const std::string& ending) const {
    auto times = read_times(folder_, names_, ending);
    auto epochs = read_epochs(folder_, names_);
    if (!times || !epochs) {
      return times ? epochs.error() : times.error();
    }
    return ApplicationProfile({.times = *std::move(times),
                               .epochs = *std::move(epochs),
                               .local_max = known_limit(folder_.filename().string()).local_max});
  }

  /// Whether some files hold for one GPU type only.
  [[nodiscard]] bool tells_types_apart() const { return !types_of(names_).empty(); }

  /// Why there is nothing for any of these types.
  [[nodiscard]] Error nothing_for(std::span<const std::string> types) const {
    const std::vector<std::string> measured = types_of(names_);
    if (measured.empty()) {
      return unreadable(folder_ / "placements.csv", std::strerror(ENOENT));
    }
    return bad_input(fmt::format("{}: neither placements.csv nor one for '{}'; measured: {}",
                                 folder_.string(), fmt::join(types, "', '"),
                                 fmt::join(measured, ", ")));
  }

 private:
  fs::path folder_;
  std::vector<std::string> names_;
};

}  // namespace

KnownLimit known_limit(std::string_view application) {
  const auto found = std::ranges::find(kKnownLimits, application, &KnownLimit::application);
  return found == kKnownLimits.end() ? KnownLimit{.application = application} : *found;
}

Result<std::vector<std::string>> names_in(const std::string& directory) {
  const fs::path folder(directory);
  std::error_code failed;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    if (names.size() == kEntriesMax) {
      return unreadable(folder, fmt::format("more than {} files", kEntriesMax));
    }
    names.push_back(it->path().filename().string());
  }
  if (failed) {
    return unreadable(folder, failed.message());
  }
  std::ranges::sort(names);
  return names;
}

Result<MeasuredApplication> read_application(const std::string& folder,
                                             std::span<const std::string> types) {
  auto names = names_in(folder);
  if (!names) {
    return names.error();
  }
  const ApplicationFiles files(folder, *std::move(names));
  const std::string application = fs::path(folder).filename().string();
  MeasuredApplication measured;
  for (const std::string& type : types) {
    const auto ending = files.ending(type);
    if (!ending) {
      return ending.error();
    }
    if (!*ending) {
      measured.notes.push_back(
          fmt::format("{}: not measured on {}, so it never runs there", application, named(type)));
      continue;
    }
    if (**ending == ".csv" && (types.size() > 1 || files.tells_types_apart())) {
      measured.notes.push_back(
          fmt::format("{}: {} take the step times of placements.csv", application, named(type)));
    }
    auto profile = files.read(**ending);
    if (!profile) {
      return profile.error();
    }
    measured.by_type.emplace(type, *std::move(profile));
  }
  return measured.by_type.empty() ? Result<MeasuredApplication>(files.nothing_for(types))
                                  : Result<MeasuredApplication>(std::move(measured));
}

}  // namespace rubato
