// What is known about speed: for each kind of job and each pool, a curve and where it comes from.
//
// A kind is (model, batch, accepted worker counts, own speeds). Where nobody measured a kind, what
// the job itself declares holds, else a cautious assumed curve scaled to the trace's own run time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rubato/core/ids.h"
#include "rubato/core/job.h"
#include "rubato/core/placement.h"
#include "rubato/core/scaling_curve.h"
#include "rubato/core/topology.h"
#include "rubato/predict/application_profile.h"
#include "rubato/predict/speed_row.h"

namespace rubato {

using ProfileKey = std::pair<std::string, std::string>;  // Model, GPU type.

/// Answers at constant cost once a kind is resolved; resolving is logarithmic in the kinds.
class SpeedBook {
 public:
  SpeedBook(std::vector<SpeedRow> rows, const Topology& topology);

  /// Measurements of a model on a GPU type that know every placement; before any kind is resolved.
  void add(const std::string& model, const std::string& gpu_type, ApplicationProfile profile);
  void add(std::map<ProfileKey, ApplicationProfile> profiles);

  /// The entry for this kind of job, made on first sight.
  SpeedId resolve(const Job& job);
  /// The entry of a kind that was resolved before.
  [[nodiscard]] SpeedId find(const Job& job) const;

  /// Steps per second at each usable count, placed as close together as the pool allows; empty if
  /// the job cannot run there.
  [[nodiscard]] const ScalingCurve& curve(SpeedId speed, PoolId pool) const {
    return entries_[speed.value].pools[pool.value].consolidated;
  }
  /// Steps per second on these GPUs.
  [[nodiscard]] double speed(SpeedId speed, const Placement& placement) const;
  /// The measurements behind a kind; null if there are only speeds, or none.
  [[nodiscard]] const ApplicationProfile* profile(SpeedId speed, PoolId pool) const;
  /// All that was given to it.
  [[nodiscard]] std::vector<SpeedRow> rows() const;
  [[nodiscard]] const std::map<ProfileKey, ApplicationProfile>& profiles() const {
    return profiles_;
  }
  /// Steps per second of a given placement span.
  [[nodiscard]] double speed(SpeedId speed, PoolId pool, int workers, Locality span) const;
  /// True if a wider span costs speed, so that moving jobs together can pay.
  [[nodiscard]] bool depends_on_span(SpeedId speed, PoolId pool) const {
    return entries_[speed.value].pools[pool.value].depends_on_span;
  }
  [[nodiscard]] Provenance provenance(SpeedId speed) const {
    return entries_[speed.value].provenance;
  }
  [[nodiscard]] std::size_t kinds() const { return entries_.size(); }
  /// One job of each kind: resolved in this order by a fresh book, they get the same entries.
  [[nodiscard]] std::vector<Job> examples() const;
  /// "bert/64: measured at 1,2,4,8 GPUs", one line per kind, for reports.
  [[nodiscard]] std::string describe(SpeedId speed) const;

  /// The speed a job is taken to have had on the GPUs it asked for, on any type that knows it:
  /// turns a trace's duration into work. Zero if it cannot run anywhere.
  [[nodiscard]] double requested_speed(SpeedId speed, int requested) const;

 private:
  struct PoolSpeed {
    std::array<ScalingCurve, kSpans> by_span{};
    ScalingCurve consolidated{};
    bool depends_on_span = false;
  };
  struct Entry {
    std::string label{};
    Provenance provenance = Provenance::Assumed;
    std::vector<PoolSpeed> pools{};
    std::string model{};
    int batch = 0;
  };
  /// Speeds as their bits, since what is not a number cannot be ordered.
  using DeclaredKey = std::vector<std::pair<int, std::uint64_t>>;
  using Kind = std::tuple<std::string, int, std::string, int, int, std::vector<int>, DeclaredKey>;

  using RowKey = std::tuple<std::string, int, std::string>;  // Model, batch, GPU type.

  [[nodiscard]] static Kind kind_of(const Job& job);
  [[nodiscard]] const std::vector<SpeedRow>* rows_for(const Job& job, const Pool& pool) const;
  [[nodiscard]] bool is_profiled(const Job& job, const Pool& pool) const {
    return profiles_.contains({job.model, pool.gpu_type});
  }
  [[nodiscard]] PoolSpeed pool_speed(const Job& job, const Pool& pool,
                                     const std::vector<SpeedRow>& rows) const;

  Topology topology_;
  std::map<RowKey, std::vector<SpeedRow>> rows_;
  std::map<ProfileKey, ApplicationProfile> profiles_;
  std::map<Kind, SpeedId> kinds_;
  std::vector<Entry> entries_;
};

}  // namespace rubato
