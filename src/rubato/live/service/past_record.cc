#include "rubato/live/service/past_record.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "rubato/live/service/input_text.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

constexpr std::string_view kWakeCommand = "command wake";

void put_moment(google::protobuf::Timestamp* to, Instant moment) {
  *to = to_timestamp(moment).value_or(google::protobuf::Timestamp{});
}

// The engine's commands but those that only ask to be woken.
std::vector<std::string> acting_commands(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!line.empty() && !line.starts_with(kWakeCommand)) {
      lines.emplace_back(line);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Reports come by the thousand and seldom move a slot.
bool may_move_slots(const wire::JournalInput& input, const Effects& effects) {
  return !(input.has_report() || input.has_woken()) || !effects.orders.empty() ||
         !effects.commands.empty();
}

template <typename T>
bool drop_oldest(std::deque<T>& all, std::size_t kept) {
  if (all.size() <= kept) {
    return false;
  }
  all.pop_front();
  return true;
}

// Every second one, but never the last.
template <typename T>
void thin_out(std::vector<T>& all) {
  std::size_t kept = 0;
  for (std::size_t i = (all.size() + 1) % 2; i < all.size(); i += 2) {
    all[kept++] = all[i];
  }
  all.resize(kept);
}

}  // namespace

void PastRecord::note(const JournalRecord& record, const Effects& effects,
                      const Controller& controller) {
  if (record.input.has_report()) {
    note_report(record.at, record.input.report());
  }
  if (may_move_slots(record.input, effects)) {
    note_slots(record.at, controller);
  }
  note_decision(record, effects);
}

void PastRecord::note_slots(Instant at, const Controller& controller) {
  UseMoment moment{.at = at};
  std::set<std::string_view> owners;
  std::set<SlotKey> seen;
  const wire::NodeList nodes = controller.nodes();
  for (const wire::NodeStatus& node : nodes.nodes()) {
    moment.gpus += node.up() ? node.slots() : 0;
    moment.used += node.slots_used();
    for (const wire::SlotStatus& slot : node.slot()) {
      const SlotKey key{node.name(), slot.index()};
      const JobId job = slot.job().empty() ? JobId{} : job_id_of(slot.job());
      if (!slot.job().empty()) {
        owners.insert(slot.job());
      }
      seen.insert(key);
      const auto found = held_.find(key);
      if (found != held_.end() && (slot.job().empty() || found->second.job != job)) {
        uses_.push_back(
            {.job = found->second.job, .slot = key, .from = found->second.from, .to = at});
        has_forgotten_uses_ |= drop_oldest(uses_, kUsesKept);
        held_.erase(found);
      }
      if (!slot.job().empty()) {
        held_.try_emplace(key, SlotHolding{.job = job, .from = at});
      }
    }
  }
  // Of nodes that are there no more.
  std::erase_if(held_, [&](const auto& each) {
    if (seen.contains(each.first)) {
      return false;
    }
    uses_.push_back(
        {.job = each.second.job, .slot = each.first, .from = each.second.from, .to = at});
    return true;
  });
  moment.jobs = static_cast<int>(owners.size());
  if (use_.empty() || !use_.back().is_same_use(moment)) {
    use_.push_back(moment);
    has_forgotten_uses_ |= drop_oldest(use_, kUseMomentsKept);
  }
}

void PastRecord::note_decision(const JournalRecord& record, const Effects& effects) {
  const std::vector<std::string> commands = acting_commands(effects.commands);
  if (effects.events.empty() && commands.empty()) {
    return;
  }
  DecisionMoment& decision = decisions_.emplace_back();
  decision.at = record.at;
  decision.record.set_sequence(record.sequence);
  put_moment(decision.record.mutable_at(), record.at);
  decision.record.set_input(input_text(record.input));
  decision.record.mutable_events()->Assign(effects.events.begin(), effects.events.end());
  decision.record.mutable_commands()->Assign(commands.begin(), commands.end());
  has_forgotten_decisions_ |= drop_oldest(decisions_, kDecisionsKept);
}

void PastRecord::note_report(Instant at, const wire::JobReport& report) {
  JobSeries& series = jobs_[job_id_of(report.job())];
  series.points.push_back({.at = at,
                           .done = report.done(),
                           .speed = report.speed(),
                           .loss = report.loss(),
                           .workers = report.workers()});
  if (series.points.size() > kPointsKept) {
    thin_out(series.points);
  }
  auto& generations = series.generations;
  if (generations.empty() || generations.back().number != report.generation() ||
      generations.back().workers != report.workers()) {
    if (generations.size() == kGenerationsKept) {
      generations.erase(generations.begin());
    }
    generations.push_back({.number = report.generation(), .at = at, .workers = report.workers()});
  }
  generations.back().pause_seconds =
      std::max(generations.back().pause_seconds, report.pause_seconds());
}

wire::TimelineReply PastRecord::timeline(const TimeSpan& span) const {
  wire::TimelineReply reply;
  reply.set_truncated(has_forgotten_uses_);
  const auto add = [&](JobId job, const SlotKey& slot, Instant from) -> wire::SlotUse& {
    wire::SlotUse& use = *reply.add_uses();
    use.set_job(std::to_string(job.value));
    use.set_node(slot.first);
    use.set_index(slot.second);
    put_moment(use.mutable_from(), from);
    return use;
  };
  for (const PastUse& use : uses_) {
    if (use.to > span.from && use.from < span.to && use.to > use.from) {
      put_moment(add(use.job, use.slot, use.from).mutable_to(), use.to);
    }
  }
  for (const auto& [slot, holding] : held_) {
    if (holding.from < span.to) {
      add(holding.job, slot, holding.from);
    }
  }
  for (std::size_t i = 0; i < use_.size(); ++i) {
    const bool is_over_before = i + 1 < use_.size() && use_[i + 1].at <= span.from;
    if (is_over_before || use_[i].at >= span.to) {
      continue;
    }
    wire::UsePoint& point = *reply.add_use();
    put_moment(point.mutable_at(), use_[i].at);
    point.set_gpus(use_[i].gpus);
    point.set_used(use_[i].used);
    point.set_jobs(use_[i].jobs);
  }
  return reply;
}

wire::DecisionList PastRecord::decisions(const TimeSpan& span, std::size_t limit) const {
  const auto first = std::ranges::lower_bound(decisions_, span.from, {}, &DecisionMoment::at);
  const auto last = std::ranges::upper_bound(decisions_, span.to, {}, &DecisionMoment::at);
  wire::DecisionList list;
  const auto count = static_cast<std::size_t>(std::max<std::ptrdiff_t>(last - first, 0));
  const std::size_t skipped = count > limit ? count - limit : 0;
  list.set_truncated(skipped > 0 || (has_forgotten_decisions_ && first == decisions_.begin()));
  for (std::size_t i = skipped; i < count; ++i) {
    *list.add_decisions() = (first + static_cast<std::ptrdiff_t>(i))->record;
  }
  return list;
}

const wire::DecisionRecord* PastRecord::decision_until(Instant moment) const {
  const auto after = std::ranges::upper_bound(decisions_, moment, {}, &DecisionMoment::at);
  return after == decisions_.begin() ? nullptr : &std::prev(after)->record;
}

wire::JobHistory PastRecord::job(JobId id) const {
  wire::JobHistory history;
  history.set_job(std::to_string(id.value));
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) {
    return history;
  }
  for (const SeriesPoint& each : found->second.points) {
    wire::JobPoint& point = *history.add_points();
    put_moment(point.mutable_at(), each.at);
    point.set_done(each.done);
    point.set_steps_per_second(each.speed);
    point.set_loss(each.loss);
    point.set_workers(each.workers);
  }
  for (const SeriesGeneration& each : found->second.generations) {
    wire::GenerationRecord& generation = *history.add_generations();
    generation.set_generation(each.number);
    put_moment(generation.mutable_at(), each.at);
    generation.set_workers(each.workers);
    generation.set_pause_seconds(each.pause_seconds);
  }
  return history;
}

}  // namespace rubato
