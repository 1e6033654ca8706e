#include "rubato/cli/profiles_dir.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "rubato/base/parse.h"
#include "rubato/base/spelling.h"
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

// The names in a folder, sorted.
Result<std::vector<std::string>> names_in(const fs::path& folder) {
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

// Step times of placements.csv and, if it is there, scalability.csv.
Result<std::vector<StepTime>> read_times(const fs::path& folder,
                                         const std::vector<std::string>& names) {
  const auto placements = text_of(folder / "placements.csv");
  if (!placements) {
    return placements.error();
  }
  auto times = parse_placements(*placements, (folder / "placements.csv").string());
  if (!times || std::ranges::find(names, "scalability.csv") == names.end()) {
    return times;
  }
  const auto text = text_of(folder / "scalability.csv");
  if (!text) {
    return text.error();
  }
  const auto wide = parse_scalability(*text, (folder / "scalability.csv").string());
  if (!wide) {
    return wide.error();
  }
  std::ranges::copy(*wide, std::back_inserter(*times));
  return times;
}

/// What the simulator that the public profiles come from does not permit although it was measured;
/// the files do not say so.
struct KnownLimit {
  std::string_view application;
  int local_max = 0;    // Samples that a worker takes at a time; 0: as many as were measured.
  int workers_max = 0;  // Of jobs that did not ask for more; 0: as many as were measured.
};
constexpr std::array kKnownLimits = {KnownLimit{.application = "ncf", .workers_max = 1},
                                     KnownLimit{.application = "yolov3", .local_max = 8}};

KnownLimit known_limit(std::string_view application) {
  const auto found = std::ranges::find(kKnownLimits, application, &KnownLimit::application);
  return found == kKnownLimits.end() ? KnownLimit{.application = application} : *found;
}

Result<ApplicationProfile> read_application(const fs::path& folder) {
  const auto names = names_in(folder);
  if (!names) {
    return names.error();
  }
  const auto times = read_times(folder, *names);
  if (!times) {
    return times.error();
  }
  if (times->empty()) {
    return bad_input(fmt::format("{}: no step times", (folder / "placements.csv").string()));
  }
  std::map<int, std::vector<Epoch>> epochs;
  for (const int batch : batches_of(*names)) {
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
  return ApplicationProfile(*times, std::move(epochs),
                            known_limit(folder.filename().string()).local_max);
}

/// Reads each application at most once.
class Library {
 public:
  static Result<Library> open(const std::string& directory) {
    auto names = names_in(directory);
    if (!names) {
      return names.error();
    }
    Library library;
    for (const std::string& name : *names) {
      std::error_code ignored;
      if (fs::is_directory(fs::path(directory) / name, ignored)) {
        library.names_.push_back(name);
      }
    }
    library.directory_ = directory;
    return library;
  }

  /// The application of a job; lives as long as the library.
  Result<const ApplicationProfile*> find(const Job& job) {
    const auto known = applications_.find(job.model);
    if (known != applications_.end()) {
      return &known->second;
    }
    // Only a listed name becomes a path, so that no trace can reach outside the folder.
    if (!std::ranges::binary_search(names_, job.model)) {
      const std::vector<std::string_view> names(names_.begin(), names_.end());
      return bad_input(fmt::format("job '{}': application '{}' has no profile in {}{}", job.name,
                                   job.model, directory_, suggestion(job.model, names)));
    }
    auto read = read_application(fs::path(directory_) / job.model);
    if (!read) {
      return read.error();
    }
    return &applications_.emplace(job.model, *std::move(read)).first->second;
  }

  [[nodiscard]] std::map<std::string, ApplicationProfile> take() && {
    return std::move(applications_);
  }

 private:
  std::string directory_;
  std::vector<std::string> names_;
  std::map<std::string, ApplicationProfile> applications_;
};

// Gives the job what its application was measured to need and to permit.
Status fill_in(const ApplicationProfile& application, Job& job) {
  job.batches = application.limits();
  if (const int workers_max = known_limit(job.model).workers_max; workers_max > 0) {
    job.workers.max = std::max(workers_max, job.requested);
  }
  if (job.work > 0 || job.duration > Duration{}) {
    return ok_status();
  }
  if (application.epochs() == 0) {
    return bad_input(fmt::format(
        "job '{}' has neither work nor duration, and '{}' has no validation-<batch>.csv", job.name,
        job.model));
  }
  job.work = application.steps(job.batch);
  return ok_status();
}

// The one GPU type of the cluster.
Result<std::string> only_type(const Topology& topology) {
  std::string type;
  for (const Pool& pool : topology.pools()) {
    if (pool.id != topology.pools().front().id && pool.gpu_type != type) {
      return bad_input(fmt::format(
          "--profiles holds for one GPU type; the cluster has '{}' and '{}'", type, pool.gpu_type));
    }
    type = pool.gpu_type;
  }
  return type;
}

// Adds the speeds of a kind seen for the first time.
Status add_rows(const ApplicationProfile& application, const Job& job, const std::string& gpu_type,
                std::vector<SpeedRow>& rows) {
  std::vector<SpeedRow> added = application.speed_rows(job.model, job.batch);
  if (added.empty()) {
    return bad_input(
        fmt::format("job '{}': batch {} is below the smallest local batch measured for '{}', {}",
                    job.name, job.batch, job.model, application.limits().local_min));
  }
  for (SpeedRow& row : added) {
    row.gpu_type = gpu_type;
    rows.push_back(std::move(row));
  }
  return ok_status();
}

}  // namespace

Result<ProfiledJobs> with_profiles(std::vector<Job> jobs, const std::string& directory,
                                   const Topology& topology) {
  auto library = Library::open(directory);
  const auto gpu_type = only_type(topology);
  if (!library || !gpu_type) {
    return library ? gpu_type.error() : library.error();
  }
  ProfiledJobs profiled{.jobs = std::move(jobs), .gpu_type = *gpu_type};
  std::set<std::pair<std::string, int>> kinds;
  for (Job& job : profiled.jobs) {
    if (job.model.empty()) {
      continue;
    }
    const auto application = library->find(job);
    if (!application) {
      return application.error();
    }
    if (kinds.emplace(job.model, job.batch).second) {
      if (const Status added = add_rows(**application, job, *gpu_type, profiled.rows); !added) {
        return added.error();
      }
      const BatchLimits& limits = (*application)->limits();
      if (limits.can_adapt() && (job.batch < limits.initial || job.batch > limits.max)) {
        profiled.notes.push_back(fmt::format(
            "{}/{}: no training was measured beyond batch {}; its gradient noise is taken over",
            job.model, job.batch, job.batch < limits.initial ? limits.initial : limits.max));
      }
    }
    if (const Status filled = fill_in(**application, job); !filled) {
      return filled.error();
    }
  }
  profiled.profiles = std::move(*library).take();
  return profiled;
}

std::vector<SpeedRow> preferring(std::vector<SpeedRow> rows, std::vector<SpeedRow> others) {
  std::set<std::pair<std::string, int>> kinds;
  for (const SpeedRow& row : rows) {
    kinds.emplace(row.model, row.batch);
  }
  for (SpeedRow& other : others) {
    if (!kinds.contains({other.model, other.batch})) {
      rows.push_back(std::move(other));
    }
  }
  return rows;
}

}  // namespace rubato
