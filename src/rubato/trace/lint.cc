#include "rubato/trace/lint.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rubato/trace/text/seconds_text.h"

namespace rubato {
namespace {

constexpr std::uint64_t kEnoughToJudge = 20;  // Fewer jobs prove no pattern.
constexpr Duration kLongRun = std::chrono::hours(24 * 180);
constexpr Duration kShortRun = std::chrono::seconds(48);

// FNV-1a: the same on every machine, and good enough to tell names apart.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  }
  return hash;
}

}  // namespace

Linter::Linter(LintOptions options, DiagnosticSink sink)
    : options_(std::move(options)), sink_(std::move(sink)) {}

void Linter::see(const Job& job, std::uint64_t line) {
  check_name(job, line);
  check_size(job, line);
  check_times(job, line);
  check_model(job, line);
}

void Linter::check_name(const Job& job, std::uint64_t line) {
  if (job.name.empty()) {
    return;
  }
  const std::uint64_t hash = hash_of(job.name);
  const bool is_new =
      names_.size() < kNamesMax ? names_.insert(hash).second : !names_.contains(hash);
  if (!is_new) {
    find({Check::Duplicate, Severity::Error, "name"}, line,
         fmt::format("{} is used by an earlier job", shown(job.name)),
         "give every job a name of its own");
  }
}

void Linter::check_size(const Job& job, std::uint64_t line) {
  if (options_.cluster_gpus > 0 && job.requested > options_.cluster_gpus) {
    find({Check::Oversized, Severity::Error, "requested"}, line,
         fmt::format("asks for {} GPUs, the cluster has {}", job.requested, options_.cluster_gpus),
         "only elastic policies can run it; give --cluster a larger size or drop the job");
  }
}

void Linter::check_times(const Job& job, std::uint64_t line) {
  if (job.arrival < last_arrival_) {
    find({Check::Unsorted, Severity::Warning, "arrival"}, line,
         fmt::format("{} is before the row above, {}", seconds_text(job.arrival.time_since_epoch()),
                     seconds_text(last_arrival_.time_since_epoch())),
         "`rubato trace convert --sort` puts the rows in order");
  }
  last_arrival_ = job.arrival;
  if (job.has_deadline() && job.deadline <= job.arrival) {
    find({Check::LateDeadline, Severity::Error, "deadline"}, line,
         fmt::format("{} is not after the arrival, {}",
                     seconds_text(job.deadline.time_since_epoch()),
                     seconds_text(job.arrival.time_since_epoch())),
         "deadlines are absolute: add the arrival if they are meant to be relative");
  }
  if (!job.has_deadline() && job.job_class != JobClass::BestEffort) {
    find({Check::ClassWithoutDeadline, Severity::Error, "deadline"}, line,
         fmt::format("missing, but the class is {}", to_string(job.job_class)),
         "set a deadline, or the class best_effort");
  }
  if (job.duration == Duration{0}) {
    // Some formats never have durations; their models say how long a job takes.
    if (!(job.work > 0) && (job.model.empty() || durations_ > 0)) {
      find({Check::NoWork, Severity::Warning, "duration"}, line,
           "zero, and there is no work either",
           "the job will end as soon as it starts: drop the row if it never ran");
    }
    return;
  }
  ++durations_;
  durations_in_thousands_ += job.duration % std::chrono::seconds(1000) == Duration{0} ? 1U : 0U;
  longest_ = std::max(longest_, job.duration);
  if (job.duration > kLongRun) {
    find({Check::LongDuration, Severity::Warning, "duration"}, line,
         fmt::format("{:.0f} days", to_seconds(job.duration) / 86400),
         "if these are milliseconds, divide by 1000");
  }
}

void Linter::check_model(const Job& job, std::uint64_t line) {
  if (options_.models.empty() || job.model.empty() ||
      std::ranges::find(options_.models, job.model) != options_.models.end()) {
    return;
  }
  const std::vector<std::string_view> known(options_.models.begin(), options_.models.end());
  find({Check::UnknownModel, Severity::Warning, "model"}, line,
       fmt::format("no speed is known for {}", shown(job.model)), did_you_mean(job.model, known));
}

void Linter::check_units() {
  if (durations_ < kEnoughToJudge) {
    return;
  }
  if (durations_in_thousands_ == durations_) {
    report({.severity = Severity::Warning,
            .field = "duration",
            .message = "every one is a multiple of 1000",
            .suggestion = "if these are milliseconds, divide by 1000"});
  } else if (longest_ < kShortRun) {
    report({.severity = Severity::Warning,
            .field = "duration",
            .message = fmt::format("the longest is {} s", seconds_text(longest_)),
            .suggestion = "if these are hours, multiply by 3600"});
  }
}

void Linter::find(const Finding& finding, std::uint64_t line, std::string message,
                  std::string suggestion) {
  kinds_.at(finding.check) = finding;
  if (++found_.at(finding.check) <= kFindingsMax) {
    report({.severity = finding.severity,
            .line = line,
            .field = std::string(finding.field),
            .message = std::move(message),
            .suggestion = std::move(suggestion)});
  }
}

void Linter::finish() {
  for (std::size_t check = 0; check < Check::Count; ++check) {
    if (found_.at(check) > kFindingsMax) {
      report(
          {.severity = kinds_.at(check).severity,
           .field = std::string(kinds_.at(check).field),
           .message = fmt::format("the same for {} more jobs", found_.at(check) - kFindingsMax)});
    }
  }
  check_units();
}

void Linter::report(Diagnostic&& diagnostic) {
  diagnostic.file = options_.file;
  sink_(std::move(diagnostic));
}

}  // namespace rubato
