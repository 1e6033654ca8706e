#include "rubato/trace/generate/generator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "rubato/base/parse.h"
#include "rubato/trace/read/record_reader.h"

namespace rubato {
namespace {

// One number per random stream; renumbering them would change every generated trace.
struct Stream {
  enum : std::uint64_t { Arrival = 1, Size, Duration, Model, Class, Tightness, Tenant };
};

std::vector<ModelChoice> default_models() {
  return {{"bert", 64},     {"bert", 128},     {"deepspeech2", 32}, {"deepspeech2", 64},
          {"gpt2", 128},    {"gpt2", 256},     {"inception3", 64},  {"inception3", 128},
          {"resnet50", 64}, {"resnet50", 128}, {"resnet50", 256},   {"vgg16", 64},
          {"vgg16", 128},   {"vgg16", 256}};
}

// What is wrong with the options, or empty.
std::string problem_of(const GeneratorOptions& options) {
  const auto is_share = [](double share) { return share >= 0 && share <= 1; };
  if (options.jobs < 1 || options.jobs > kGeneratedJobsMax) {
    return fmt::format("jobs: found {}, expected 1 to {}", options.jobs, kGeneratedJobsMax);
  }
  if (options.cluster_gpus < 1 || options.cluster_gpus > kGpusMax) {
    return fmt::format("cluster: found {} GPUs, expected 1 to {}", options.cluster_gpus, kGpusMax);
  }
  if (!(options.load > 0 && options.load <= 100)) {
    return fmt::format("load: found {}, expected more than 0 and at most 100",
                       shortest(options.load));
  }
  if (!is_share(options.best_effort) || !is_share(options.soft) ||
      options.best_effort + options.soft > 1) {
    return fmt::format(
        "best-effort and soft: found {} and {}, expected shares that add up to at "
        "most 1",
        shortest(options.best_effort), shortest(options.soft));
  }
  if (!(options.tightness_min > 0 && options.tightness_min <= options.tightness_max &&
        options.tightness_max <= 1000)) {
    return fmt::format("tightness: found {} to {}, expected a range within 0 to 1000",
                       shortest(options.tightness_min), shortest(options.tightness_max));
  }
  if (options.tenants < 1 || options.tenants > kTenantsMax) {
    return fmt::format("tenants: found {}, expected 1 to {}", options.tenants, kTenantsMax);
  }
  if (find_profile(options.profile) == nullptr) {
    std::vector<std::string_view> names;
    for (const Profile& profile : generator_profiles()) {
      names.push_back(profile.name);
    }
    const std::string hint = did_you_mean(options.profile, names);
    return fmt::format("profile: found {}, expected one of {}{}{}", shown(options.profile),
                       fmt::join(names, ", "), hint.empty() ? "" : "; ", hint);
  }
  return {};
}

// Seconds are whole, as in most public traces; from one on for what takes time.
Duration whole_seconds(double seconds) {
  return std::chrono::seconds(static_cast<std::int64_t>(std::llround(seconds)));
}

}  // namespace

Generator::Generator(GeneratorOptions options)
    : options_(std::move(options)),
      size_random_(Random(options_.seed).fork(Stream::Size)),
      duration_random_(Random(options_.seed).fork(Stream::Duration)),
      model_random_(Random(options_.seed).fork(Stream::Model)),
      class_random_(Random(options_.seed).fork(Stream::Class)),
      tightness_random_(Random(options_.seed).fork(Stream::Tightness)),
      tenant_random_(Random(options_.seed).fork(Stream::Tenant)) {
  if (options_.models.empty()) {
    options_.models = default_models();
  }
  for (int i = 1; i <= options_.tenants; ++i) {
    tenant_shares_.push_back(1.0 / i);
  }
}

Result<Generator> Generator::make(GeneratorOptions options) {
  if (std::string problem = problem_of(options); !problem.empty()) {
    return bad_input(std::move(problem));
  }
  Generator generator(std::move(options));
  const GeneratorOptions& chosen = generator.options_;
  const auto widest = static_cast<int>(std::bit_floor(static_cast<unsigned>(chosen.cluster_gpus)));
  double gpu_seconds = 0;
  for (SizeShare size : find_profile(chosen.profile)->sizes) {
    size.gpus = std::min(size.gpus, widest);
    while (size.gpus > 1 && generator.models_on(size.gpus).empty()) {
      size.gpus /= 2;
    }
    if (generator.models_on(size.gpus).empty()) {
      return bad_input("models: none can run on a single GPU");
    }
    gpu_seconds += size.share * size.gpus * mean_duration(size.durations);
    generator.sizes_.push_back(size);
    generator.size_shares_.push_back(size.share);
  }
  generator.mean_gap_ = gpu_seconds / (chosen.load * chosen.cluster_gpus);
  const double span = generator.mean_gap_ * static_cast<double>(chosen.jobs);
  if (span > kSecondsMax / 4) {
    return bad_input(
        fmt::format("jobs: {} of them would arrive over {:.0f} years; raise the load "
                    "or the size of the cluster",
                    chosen.jobs, span / (365.25 * 86400)));
  }
  generator.arrivals_.emplace(chosen.arrivals, generator.mean_gap_,
                              Random(chosen.seed).fork(Stream::Arrival));
  return generator;
}

const std::vector<std::size_t>& Generator::models_on(int gpus) {
  const auto [entry, is_new] = models_on_.try_emplace(gpus);
  for (std::size_t i = 0; is_new && i < options_.models.size(); ++i) {
    const ModelChoice& choice = options_.models[i];
    if (choice.batch >= gpus && (!options_.speed || options_.speed(choice, gpus) > 0)) {
      entry->second.push_back(i);
    }
  }
  return entry->second;
}

std::optional<Job> Generator::next() {
  if (made_ == options_.jobs) {
    return std::nullopt;
  }
  const SizeShare& size = sizes_[size_random_.weighted(size_shares_)];
  Job job;
  job.id = JobId{made_};
  job.name = fmt::format("job-{}", made_);
  job.arrival = Instant{whole_seconds(arrivals_->next())};
  job.requested = size.gpus;
  job.duration = whole_seconds(duration_at(size.durations, duration_random_.uniform()));
  if (options_.tenants > 1) {
    job.tenant = fmt::format("tenant-{}", tenant_random_.weighted(tenant_shares_) + 1);
  }
  draw_model(job);
  draw_promise(job);
  ++made_;
  return job;
}

void Generator::draw_model(Job& job) {
  const std::vector<std::size_t>& fitting = models_on(job.requested);
  const auto last = static_cast<std::int64_t>(fitting.size()) - 1;
  const auto drawn = static_cast<std::size_t>(model_random_.integer(0, last));
  const ModelChoice& choice = options_.models[fitting[drawn]];
  job.model = choice.model;
  job.batch = choice.batch;
  if (options_.speed) {
    const double steps = to_seconds(job.duration) * options_.speed(choice, job.requested);
    job.work = std::max(1.0, std::floor(steps));
  }
}

void Generator::draw_promise(Job& job) {
  const double lambda = tightness_random_.uniform(options_.tightness_min, options_.tightness_max);
  const double kind = class_random_.uniform();
  if (kind < options_.best_effort) {
    job.job_class = JobClass::BestEffort;
    return;
  }
  job.job_class = kind < options_.best_effort + options_.soft ? JobClass::Soft : JobClass::Slo;
  const Duration allowed = whole_seconds(lambda * to_seconds(job.duration));
  job.deadline = job.arrival + std::max<Duration>(allowed, std::chrono::seconds(1));
}

}  // namespace rubato
