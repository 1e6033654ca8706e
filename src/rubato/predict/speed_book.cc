#include "rubato/predict/speed_book.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "rubato/base/check.h"

namespace rubato {
namespace {

// Each further worker of an unmeasured job is taken to lose this much of everyone's speed.
constexpr double kAssumedLoss = 0.02;
constexpr int kAssumedWorkersMax = 64;

double assumed_speed(int workers) { return workers / (1 + kAssumedLoss * (workers - 1)); }

std::vector<SpeedRow> assumed_rows() {
  std::vector<SpeedRow> rows;
  for (int gpus = 1; gpus <= kAssumedWorkersMax; gpus *= 2) {
    rows.push_back(SpeedRow{.gpus = gpus, .speed = assumed_speed(gpus)});
  }
  return rows;
}

// What the job says of itself; holds at every span.
std::vector<SpeedRow> declared_rows(const Job& job) {
  std::vector<SpeedRow> rows;
  for (const ScalingPoint& point : job.speeds) {
    if (point.workers > 0 && std::isfinite(point.speed) && point.speed > 0) {
      rows.push_back(SpeedRow{.gpus = point.workers, .speed = point.speed});
    }
  }
  return rows;
}

// The measured points for one span: rows of that span, else of no span, else of a narrower one.
ScalingCurve curve_for(const std::vector<SpeedRow>& rows, Locality span) {
  std::vector<ScalingPoint> exact;
  std::vector<ScalingPoint> any;
  std::vector<ScalingPoint> narrower;
  for (const SpeedRow& row : rows) {
    const ScalingPoint point{.workers = row.gpus, .speed = row.speed};
    if (!row.span) {
      any.push_back(point);
    } else if (*row.span == span) {
      exact.push_back(point);
    } else if (*row.span < span) {
      narrower.push_back(point);
    }
  }
  // One worker never talks to another, so its speed is the same at every span.
  std::vector<ScalingPoint>& best = !exact.empty() ? exact : !any.empty() ? any : narrower;
  for (const SpeedRow& row : rows) {
    if (row.gpus == 1 &&
        std::ranges::none_of(best, [](const ScalingPoint& point) { return point.workers == 1; })) {
      best.push_back(ScalingPoint{.workers = 1, .speed = row.speed});
    }
  }
  return ScalingCurve(std::move(best));
}

// The counts to consider: those the job lists, else those that were measured.
std::vector<int> counts_for(const Job& job, const std::vector<SpeedRow>& rows) {
  std::vector<int> counts = job.workers.listed;
  if (counts.empty()) {
    for (const SpeedRow& row : rows) {
      counts.push_back(row.gpus);
    }
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

}  // namespace

SpeedBook::SpeedBook(std::vector<SpeedRow> rows, const Topology& topology) : topology_(topology) {
  for (SpeedRow& row : rows) {
    rows_[RowKey(row.model, row.batch, row.gpu_type)].push_back(std::move(row));
  }
}

void SpeedBook::add(const std::string& model, const std::string& gpu_type,
                    ApplicationProfile profile) {
  RUBATO_CHECK(entries_.empty());
  profiles_.emplace(std::pair(model, gpu_type), std::move(profile));
}

void SpeedBook::add(std::map<ProfileKey, ApplicationProfile> profiles) {
  for (auto& [key, profile] : profiles) {
    add(key.first, key.second, std::move(profile));
  }
}

std::vector<SpeedRow> SpeedBook::rows() const {
  std::vector<SpeedRow> rows;
  for (const auto& [key, of_kind] : rows_) {
    rows.insert(rows.end(), of_kind.begin(), of_kind.end());
  }
  return rows;
}

const ApplicationProfile* SpeedBook::profile(SpeedId speed, PoolId pool) const {
  const auto found = profiles_.find({entries_[speed.value].model, topology_.pool(pool).gpu_type});
  return found == profiles_.end() ? nullptr : &found->second;
}

double SpeedBook::speed(SpeedId speed, const Placement& placement) const {
  const ApplicationProfile* measured = profiles_.empty() ? nullptr : profile(speed, placement.pool);
  if (measured == nullptr) {
    return this->speed(speed, placement.pool, placement.gpus(), topology_.span_of(placement));
  }
  NodePattern nodes;
  for (const NodeShare& share : topology_.nodes_of(placement)) {
    nodes.push_back(share.workers);
  }
  return measured->speed(nodes, entries_[speed.value].batch);
}

const std::vector<SpeedRow>* SpeedBook::rows_for(const Job& job, const Pool& pool) const {
  if (!pool.gpu_type.empty()) {
    const auto found = rows_.find(RowKey(job.model, job.batch, pool.gpu_type));
    return found == rows_.end() ? nullptr : &found->second;
  }
  // A cluster of unnamed type takes the first type that was measured with this model and batch.
  const auto found = rows_.lower_bound(RowKey(job.model, job.batch, ""));
  const bool matches = found != rows_.end() && std::get<0>(found->first) == job.model &&
                       std::get<1>(found->first) == job.batch;
  return matches ? &found->second : nullptr;
}

SpeedBook::PoolSpeed SpeedBook::pool_speed(const Job& job, const Pool& pool,
                                           const std::vector<SpeedRow>& rows) const {
  const std::vector<int> counts = counts_for(job, rows);
  std::array<std::vector<ScalingPoint>, kSpans> by_span;
  std::vector<ScalingPoint> consolidated;
  PoolSpeed result;
  for (int s = 0; s < kSpans; ++s) {
    const ScalingCurve measured = curve_for(rows, static_cast<Locality>(s));
    for (const int count : counts) {
      if (count > pool.gpus || !job.workers.allows(count)) {
        continue;
      }
      const ScalingPoint point{.workers = count, .speed = measured.speed(count)};
      by_span[static_cast<std::size_t>(s)].push_back(point);
      if (topology_.narrowest_span(pool.id, count) == static_cast<Locality>(s)) {
        consolidated.push_back(point);
      }
    }
    result.by_span[static_cast<std::size_t>(s)] =
        ScalingCurve(std::move(by_span[static_cast<std::size_t>(s)]));
  }
  result.consolidated = ScalingCurve(std::move(consolidated));
  result.depends_on_span =
      result.by_span[0] != result.by_span[1] || result.by_span[1] != result.by_span[2];
  return result;
}

SpeedBook::Kind SpeedBook::kind_of(const Job& job) {
  DeclaredKey declared;
  for (const ScalingPoint& point : job.speeds) {
    declared.emplace_back(point.workers, std::bit_cast<std::uint64_t>(point.speed));
  }
  return Kind(job.model, job.batch, job.gpu_type, job.workers.min, job.workers.max,
              job.workers.listed, std::move(declared));
}

std::vector<Job> SpeedBook::examples() const {
  std::vector<Job> examples(entries_.size());
  for (const auto& [kind, id] : kinds_) {
    const auto& [model, batch, gpu_type, min, max, listed, declared] = kind;
    Job& job = examples[id.value];
    job = Job{.model = model,
              .batch = batch,
              .workers = {.min = min, .max = max, .listed = listed},
              .gpu_type = gpu_type};
    for (const auto& [workers, speed] : declared) {
      job.speeds.push_back({.workers = workers, .speed = std::bit_cast<double>(speed)});
    }
  }
  return examples;
}

SpeedId SpeedBook::find(const Job& job) const {
  const auto known = kinds_.find(kind_of(job));
  RUBATO_CHECK(known != kinds_.end());
  return known->second;
}

SpeedId SpeedBook::resolve(const Job& job) {
  const Kind kind = kind_of(job);
  const auto known = kinds_.find(kind);
  if (known != kinds_.end()) {
    return known->second;
  }
  const auto known_pool = std::ranges::find_if(
      topology_.pools(), [&](const Pool& pool) { return rows_for(job, pool) != nullptr; });
  const bool measured = known_pool != topology_.pools().end();
  Entry entry{
      .label = job.model.empty() ? "unnamed" : fmt::format("{}/{}", job.model, job.batch),
      .provenance = measured ? rows_for(job, *known_pool)->front().provenance : Provenance::Assumed,
      .model = job.model,
      .batch = job.batch};
  const std::vector<SpeedRow> declared = declared_rows(job);
  const std::vector<SpeedRow> assumed = assumed_rows();
  for (const Pool& pool : topology_.pools()) {
    const bool permitted = job.gpu_type.empty() || job.gpu_type == pool.gpu_type;
    const std::vector<SpeedRow>* rows = rows_for(job, pool);
    if (rows == nullptr && !declared.empty() && !is_profiled(job, pool)) {
      rows = &declared;
      entry.provenance = measured ? entry.provenance : Provenance::Measured;
    } else if (!measured) {
      rows = &assumed;
    }
    entry.pools.push_back(permitted && rows != nullptr ? pool_speed(job, pool, *rows)
                                                       : PoolSpeed{});
  }
  const SpeedId id{entries_.size()};
  entries_.push_back(std::move(entry));
  kinds_.emplace(kind, id);
  return id;
}

double SpeedBook::speed(SpeedId speed, PoolId pool, int workers, Locality span) const {
  const PoolSpeed& here = entries_[speed.value].pools[pool.value];
  return here.depends_on_span ? here.by_span[static_cast<std::size_t>(span)].speed(workers)
                              : here.consolidated.speed(workers);
}

double SpeedBook::requested_speed(SpeedId speed, int requested) const {
  for (const PoolSpeed& pool : entries_[speed.value].pools) {
    if (!pool.consolidated.empty()) {
      return pool.consolidated.speed(requested);
    }
  }
  return 0;
}

std::string SpeedBook::describe(SpeedId speed) const {
  const Entry& entry = entries_[speed.value];
  std::string text = fmt::format("{}: {}", entry.label, to_string(entry.provenance));
  for (std::size_t p = 0; p < entry.pools.size(); ++p) {
    const auto points = entry.pools[p].consolidated.points();
    const std::string& type = topology_.pools()[p].gpu_type;
    text += fmt::format("{} at", p == 0 ? "" : ";");
    for (const ScalingPoint& point : points) {
      text += fmt::format(" {}", point.workers);
    }
    text += points.empty() ? " no GPUs" : " GPUs";
    text += type.empty() ? "" : fmt::format(" ({})", type);
  }
  return text;
}

}  // namespace rubato
