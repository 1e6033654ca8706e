#include "rubato/live/controller/shadow_policy.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rubato {
namespace {

std::int64_t count_of(Instant moment) { return moment.time_since_epoch().count(); }
Instant instant_of(std::int64_t micros) { return Instant{Duration{micros}}; }

// Events that wait are kept as lines of a journal, whose header says nothing here.
const JournalHeader kPendingHeader{.policy = "shadow", .cluster = "1x1"};

Result<std::deque<JournalEvent>> read_pending(const std::string& lines) {
  const std::string text = header_line(kPendingHeader) + lines;
  auto reader = JournalReader::open(text);
  if (!reader) {
    return reader.error();
  }
  std::deque<JournalEvent> events;
  while (true) {
    auto entry = reader->next();
    if (!entry) {
      return entry.error();
    }
    if (!entry->has_value()) {
      return events;
    }
    if (auto* event = std::get_if<JournalEvent>(&**entry)) {
      events.push_back(std::move(*event));
    }
  }
}

}  // namespace

void PolicyTally::add(const ShadowJob& job, Instant now) {
  if (job.has_left) {
    return;
  }
  ++jobs;
  const bool is_finished = job.finish != kNever;
  refused += job.is_refused ? 1 : 0;
  finished += is_finished ? 1 : 0;
  jct_seconds += is_finished ? to_seconds(job.finish - job.submitted) : 0;
  if (job.deadline != kNever && (is_finished || job.is_refused)) {
    ++deadline_jobs;
    deadlines_met += is_finished && job.finish <= job.deadline ? 1 : 0;
  }
  if (job.is_promised) {
    ++promises_made;
    promises_broken += (is_finished ? job.finish : now) > job.deadline ? 1 : 0;
  }
}

wire::PolicyResult PolicyTally::result() const {
  wire::PolicyResult to;
  to.set_jobs(jobs);
  to.set_refused(refused);
  to.set_finished(finished);
  to.set_deadline_jobs(deadline_jobs);
  to.set_deadlines_met(deadlines_met);
  to.set_deadlines_met_ratio(
      deadline_jobs == 0 ? 1 : static_cast<double>(deadlines_met) / deadline_jobs);
  to.set_promises_made(promises_made);
  to.set_promises_broken(promises_broken);
  to.set_mean_jct_seconds(finished == 0 ? 0 : jct_seconds / finished);
  to.set_gpu_utilization(gpu_seconds > 0 ? gpu_seconds_used / gpu_seconds : 0);
  return to;
}

ShadowPolicy::ShadowPolicy(std::string policy, Engine engine, Instant now)
    : policy_(std::move(policy)), engine_(std::move(engine)), since_(now), now_(now) {}

void ShadowPolicy::post(JournalEvent event) {
  if (pending_.size() >= kPendingMax) {
    is_lost_ = true;
    pending_.clear();
  }
  if (!is_lost_) {
    pending_.push_back(std::move(event));
  }
}

void ShadowPolicy::arrive(Instant now, JobId live, Job job, Instant submitted, Instant deadline) {
  job.id = JobId{next_id_++};
  ShadowJob& entry = jobs_[live];
  entry = {.submitted = submitted, .deadline = deadline, .engine_id = job.id};
  names_[job.id] = live;
  post({.at = now, .event = Arrival{.job = std::move(job)}});
}

void ShadowPolicy::leave(Instant now, JobId live) {
  const auto found = jobs_.find(live);
  if (found == jobs_.end() || !found->second.is_active()) {
    return;
  }
  found->second.has_left = true;
  names_.erase(found->second.engine_id);
  post({.at = now,
        .event = Completion{.job = found->second.engine_id, .outcome = Outcome::Cancelled}});
}

void ShadowPolicy::change_node(Instant now, const NodeChange& change) {
  post({.at = now, .event = change});
}

void ShadowPolicy::join(Instant now, const NodeJoin& join) { post({.at = now, .join = join}); }

Instant ShadowPolicy::next() const {
  Instant next = wake_;
  if (!finishes_.empty()) {
    next = std::min(next, finishes_.begin()->first);
  }
  if (!pending_.empty()) {
    next = std::min(next, pending_.front().at);
  }
  return is_lost_ ? kNever : next;
}

void ShadowPolicy::advance(Instant to) {
  for (int turn = 0; turn < kEventsPerTurn; ++turn) {
    const Instant at = next();
    if (at > to) {
      break;
    }
    const Instant moment = std::max(at, now_);
    const auto& used = engine_.state().used;
    const auto& capacity = engine_.state().capacity;
    const double seconds = to_seconds(moment - now_);
    gpu_seconds_used_ += seconds * std::accumulate(used.begin(), used.end(), 0);
    gpu_seconds_ += seconds * std::accumulate(capacity.begin(), capacity.end(), 0);
    now_ = moment;
    if (!finishes_.empty() && finishes_.begin()->first <= moment) {
      feed(Completion{.job = finishes_.begin()->second});
    } else if (!pending_.empty() && pending_.front().at <= moment) {
      const JournalEvent event = std::move(pending_.front());
      pending_.pop_front();
      event.join ? obey(engine_.on(now_, *event.join)) : feed(event.event);
    } else {
      wake_ = kNever;
      feed(Tick{});
    }
  }
}

void ShadowPolicy::feed(const Event& event) {
  if (const auto* over = std::get_if<Completion>(&event)) {
    if (const auto name = names_.find(over->job); name != names_.end()) {
      jobs_.at(name->second).finish = now_;
      names_.erase(name);
    }
  }
  obey(engine_.on(now_, event));
  if (const auto* over = std::get_if<Completion>(&event)) {
    watch(over->job);
  }
}

void ShadowPolicy::obey(const Commands& commands) {
  for (const Command& command : commands) {
    carry_out(command);
  }
  for (const Command& command : commands) {
    const auto* answer = std::get_if<Answer>(&command);
    if (answer != nullptr && answer->verdict.kind == VerdictKind::Offer) {
      // As the live platform answers for its users.
      feed(OfferReply{.job = answer->verdict.job, .accepted = true});
    }
  }
}

void ShadowPolicy::carry_out(const Command& command) {
  if (const auto* wake = std::get_if<Wake>(&command)) {
    wake_ = wake->at;
  } else if (const auto* run = std::get_if<Run>(&command)) {
    watch(run->job);
  } else if (const auto* suspend = std::get_if<Suspend>(&command)) {
    watch(suspend->job);
  } else if (const auto* stall = std::get_if<Stall>(&command)) {
    watch(stall->job);
  } else if (const auto* rebatch = std::get_if<Rebatch>(&command)) {
    watch(rebatch->job);
  } else if (const auto* answer = std::get_if<Answer>(&command)) {
    const auto name = names_.find(answer->verdict.job);
    if (name == names_.end()) {
      return;
    }
    ShadowJob& job = jobs_.at(name->second);
    job.is_promised = job.is_promised || (answer->verdict.kind == VerdictKind::Admit &&
                                          answer->verdict.promised != kNever);
    if (answer->verdict.kind == VerdictKind::Refuse) {
      job.is_refused = true;
      names_.erase(name);
    }
  }
}

// Knows when the job will be done as things stand now.
void ShadowPolicy::watch(JobId engine_id) {
  if (const auto known = finish_of_.find(engine_id); known != finish_of_.end()) {
    finishes_.erase({known->second, engine_id});
    finish_of_.erase(known);
  }
  const JobState* state = engine_.state().jobs.find(engine_id);
  const Instant finish =
      state == nullptr || state->share == 0 ? kNever : state->progress.finish(state->job.work);
  if (finish != kNever) {
    finishes_.emplace(finish, engine_id);
    finish_of_.emplace(engine_id, finish);
  }
}

PolicyTally ShadowPolicy::tally() const {
  PolicyTally tally;
  for (const auto& [id, job] : jobs_) {
    tally.add(job, now_);
  }
  tally.gpu_seconds_used = gpu_seconds_used_;
  tally.gpu_seconds = gpu_seconds_;
  return tally;
}

wire::SavedShadow ShadowPolicy::save() const {
  wire::SavedShadow to;
  to.set_policy(policy_);
  to.set_since_us(count_of(since_));
  to.set_now_us(count_of(now_));
  to.set_wake_us(count_of(wake_));
  to.set_is_lost(is_lost_);
  to.set_next_id(next_id_);
  to.set_gpu_seconds_used(gpu_seconds_used_);
  to.set_gpu_seconds(gpu_seconds_);
  to.set_engine(engine_.save());
  for (const JournalEvent& event : pending_) {
    *to.mutable_pending() +=
        event.join ? event_line(event.at, *event.join) : event_line(event.at, event.event);
  }
  for (const auto& [id, job] : jobs_) {
    wire::SavedShadowJob& each = *to.add_jobs();
    each.set_id(id.value);
    each.set_engine_id(job.engine_id.value);
    each.set_submitted_us(count_of(job.submitted));
    each.set_deadline_us(count_of(job.deadline));
    each.set_is_promised(job.is_promised);
    each.set_is_refused(job.is_refused);
    each.set_has_left(job.has_left);
    each.set_finish_us(count_of(job.finish));
  }
  return to;
}

Status ShadowPolicy::load(const wire::SavedShadow& from) {
  if (Status loaded = engine_.load(from.engine()); !loaded) {
    return loaded;
  }
  auto pending = read_pending(from.pending());
  if (!pending) {
    return pending.error();
  }
  pending_ = *std::move(pending);
  since_ = instant_of(from.since_us());
  now_ = instant_of(from.now_us());
  wake_ = instant_of(from.wake_us());
  is_lost_ = from.is_lost();
  next_id_ = from.next_id();
  gpu_seconds_used_ = from.gpu_seconds_used();
  gpu_seconds_ = from.gpu_seconds();
  for (const wire::SavedShadowJob& each : from.jobs()) {
    const ShadowJob job{.submitted = instant_of(each.submitted_us()),
                        .deadline = instant_of(each.deadline_us()),
                        .engine_id = JobId{each.engine_id()},
                        .is_promised = each.is_promised(),
                        .is_refused = each.is_refused(),
                        .has_left = each.has_left(),
                        .finish = instant_of(each.finish_us())};
    jobs_[JobId{each.id()}] = job;
    if (job.is_active()) {
      names_[job.engine_id] = JobId{each.id()};
    }
  }
  std::vector<JobId> running;
  engine_.state().jobs.for_each([&](const JobState& job) { running.push_back(job.id()); });
  for (const JobId id : running) {
    watch(id);
  }
  return ok_status();
}

}  // namespace rubato
