#include "rubato/cli/simulate/profiles_dir.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "rubato/base/spelling.h"
#include "rubato/cli/simulate/profile_files.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

/// Reads each application at most once.
class Library {
 public:
  static Result<Library> open(const std::string& directory, std::vector<std::string> types) {
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
    library.types_ = std::move(types);
    return library;
  }

  /// The application of a job; lives as long as the library.
  Result<const MeasuredApplication*> find(const Job& job) {
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
    auto read = read_application(fs::path(directory_) / job.model, types_);
    if (!read) {
      return read.error();
    }
    return &applications_.emplace(job.model, *std::move(read)).first->second;
  }

  /// Empties the library.
  void hand_over(ProfiledJobs& profiled) {
    for (auto& [model, application] : applications_) {
      for (auto& [type, profile] : application.by_type) {
        profiled.profiles.emplace(ProfileKey(model, type), std::move(profile));
      }
      std::ranges::move(application.notes, std::back_inserter(profiled.notes));
    }
    applications_.clear();
  }

 private:
  std::string directory_;
  std::vector<std::string> types_;
  std::vector<std::string> names_;
  std::map<std::string, MeasuredApplication> applications_;
};

// What any of the types permits; batch sizes are the same on all of them.
BatchLimits widest_limits(const MeasuredApplication& application) {
  BatchLimits widest = application.by_type.begin()->second.limits();
  for (const auto& [type, profile] : application.by_type) {
    widest.local_min = std::min(widest.local_min, profile.limits().local_min);
    widest.local_max = std::max(widest.local_max, profile.limits().local_max);
  }
  return widest;
}

// Gives the job what its application was measured to need and to permit.
Status fill_in(const MeasuredApplication& application, Job& job) {
  const ApplicationProfile& any = application.by_type.begin()->second;
  job.batches = widest_limits(application);
  if (const int workers_max = known_limit(job.model).workers_max; workers_max > 0) {
    job.workers.max = std::max(workers_max, job.requested);
  }
  if (job.work > 0 || job.duration > Duration{}) {
    return ok_status();
  }
  if (any.epochs() == 0) {
    return bad_input(fmt::format(
        "job '{}' has neither work nor duration, and '{}' has no validation-<batch>.csv", job.name,
        job.model));
  }
  job.work = any.steps(job.batch);
  return ok_status();
}

// The GPU types of the cluster, each once, in its order.
std::vector<std::string> types_in(const Topology& topology) {
  std::vector<std::string> types;
  for (const Pool& pool : topology.pools()) {
    if (std::ranges::find(types, pool.gpu_type) == types.end()) {
      types.push_back(pool.gpu_type);
    }
  }
  return types;
}

// Adds the speeds, by type, of a kind seen for the first time.
Status add_rows(const MeasuredApplication& application, const Job& job,
                std::vector<SpeedRow>& rows) {
  const std::size_t before = rows.size();
  for (const auto& [type, profile] : application.by_type) {
    for (SpeedRow& row : profile.speed_rows(job.model, job.batch)) {
      row.gpu_type = type;
      rows.push_back(std::move(row));
    }
  }
  if (rows.size() == before) {
    return bad_input(
        fmt::format("job '{}': batch {} is below the smallest local batch measured for '{}', {}",
                    job.name, job.batch, job.model, widest_limits(application).local_min));
  }
  return ok_status();
}

// Says so if the gradient noise of a batch was not measured.
void note_noise(const MeasuredApplication& application, const Job& job,
                std::vector<std::string>& notes) {
  const BatchLimits& limits = application.by_type.begin()->second.limits();
  if (limits.can_adapt() && (job.batch < limits.initial || job.batch > limits.max)) {
    notes.push_back(fmt::format(
        "{}/{}: no training was measured beyond batch {}; its gradient noise is taken over",
        job.model, job.batch, job.batch < limits.initial ? limits.initial : limits.max));
  }
}

}  // namespace

Result<ProfiledJobs> with_profiles(std::vector<Job> jobs, const std::string& directory,
                                   const Topology& topology) {
  auto library = Library::open(directory, types_in(topology));
  if (!library) {
    return library.error();
  }
  ProfiledJobs profiled{.jobs = std::move(jobs)};
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
      if (const Status added = add_rows(**application, job, profiled.rows); !added) {
        return added.error();
      }
      note_noise(**application, job, profiled.notes);
    }
    if (const Status filled = fill_in(**application, job); !filled) {
      return filled.error();
    }
  }
  library->hand_over(profiled);
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
