#include "rubato/cli/profiles_dir.h"

#include <algorithm>
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
#include "rubato/predict/measured_profile.h"

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

/// One application's folder.
struct Application {
  fs::path folder{};
  MeasuredProfile profile{{}};
  std::vector<int> batches{};  // Those with a training curve, rising.
};

Result<Application> read_application(const fs::path& folder) {
  const auto names = names_in(folder);
  const auto placements = text_of(folder / "placements.csv");
  for (const Error* error :
       {names ? nullptr : &names.error(), placements ? nullptr : &placements.error()}) {
    if (error != nullptr) {
      return *error;
    }
  }
  auto times = parse_placements(*placements, (folder / "placements.csv").string());
  if (!times) {
    return times.error();
  }
  if (std::ranges::find(*names, "scalability.csv") != names->end()) {
    const auto text = text_of(folder / "scalability.csv");
    if (!text) {
      return text.error();
    }
    const auto wide = parse_scalability(*text, (folder / "scalability.csv").string());
    if (!wide) {
      return wide.error();
    }
    std::ranges::copy(*wide, std::back_inserter(*times));
  }
  return Application{
      .folder = folder, .profile = MeasuredProfile(*times), .batches = batches_of(*names)};
}

/// Reads each application, and each of its training curves, at most once.
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
  Result<const Application*> find(const Job& job) {
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

 private:
  std::string directory_;
  std::vector<std::string> names_;
  std::map<std::string, Application> applications_;
};

// Steps of a whole training at the job's batch; a note if its batch has no curve of its own.
Result<double> training_steps(const Application& application, const Job& job,
                              std::vector<std::string>& notes) {
  if (application.batches.empty()) {
    return bad_input(
        fmt::format("job '{}' has neither work nor duration, and {} has no validation-<batch>.csv",
                    job.name, application.folder.string()));
  }
  const int batch = curve_batch(application.batches, job.batch);
  const fs::path file = application.folder / fmt::format("validation-{}.csv", batch);
  const auto text = text_of(file);
  if (!text) {
    return text.error();
  }
  const auto steps = parse_training_steps(*text, file.string());
  if (!steps) {
    return steps.error();
  }
  const double needed = steps_at_batch(*steps, batch, job.batch);
  if (batch != job.batch) {
    notes.push_back(fmt::format(
        "{}/{}: no training curve of this batch; {:.0f} steps, after batch {} and as many {}",
        job.model, job.batch, needed, batch, job.batch < batch ? "samples" : "steps"));
  }
  return needed;
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
Status add_rows(const Application& application, const Job& job, const std::string& gpu_type,
                std::vector<SpeedRow>& rows) {
  std::vector<SpeedRow> added = application.profile.speed_rows(job.model, job.batch);
  if (added.empty()) {
    return bad_input(
        fmt::format("job '{}': batch {} is below the smallest local batch measured for '{}', {}",
                    job.name, job.batch, job.model, application.profile.smallest_local_batch()));
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
  ProfiledJobs profiled{.jobs = std::move(jobs)};
  // Steps of a whole training by (model, batch); zero until a job needs them.
  std::map<std::pair<std::string, int>, double> steps_of_kind;
  for (Job& job : profiled.jobs) {
    if (job.model.empty()) {
      continue;
    }
    const auto application = library->find(job);
    if (!application) {
      return application.error();
    }
    const auto [kind, is_new] = steps_of_kind.try_emplace({job.model, job.batch}, 0.0);
    if (is_new) {
      if (const Status added = add_rows(**application, job, *gpu_type, profiled.rows); !added) {
        return added.error();
      }
    }
    if (job.work > 0 || job.duration > Duration{}) {
      continue;
    }
    double& steps = kind->second;
    if (steps == 0) {
      const auto needed = training_steps(**application, job, profiled.notes);
      if (!needed) {
        return needed.error();
      }
      steps = *needed;
    }
    job.work = steps;
  }
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
