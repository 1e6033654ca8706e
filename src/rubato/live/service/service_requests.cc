// What users ask of the platform: each is carried out on the loop.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/core.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "rubato/engine/record/journal.h"
#include "rubato/live/service/log_reader.h"
#include "rubato/live/service/overview.h"
#include "rubato/live/service/service.h"
#include "rubato/spec/deadline_text.h"
#include "rubato/spec/validate_spec.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

constexpr int kPageMax = 1000;

Refusal no_such_job(const std::string& id) {
  return {.kind = RefusalKind::NotFound, .message = fmt::format("there is no job {}", id)};
}

// The same bytes for the same message, in whatever order its maps were filled.
std::string ordered_bytes(const wire::JobSpec& spec) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  (void)spec.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

// What makes two submissions with one key the same.
std::string hash_of(const wire::JobSpec& spec) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char each : ordered_bytes(spec)) {
    hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211ULL;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace

const LiveJob* Service::visible(const Caller& caller, const std::string& id) const {
  const LiveJob* job = controller_.find(job_id_of(id));
  return job != nullptr && may_look(caller, job->spec) ? job : nullptr;
}

// The controller's view, with what was reported since and is not worth journalling.
wire::JobStatus Service::status_of(const LiveJob& job) const {
  wire::JobStatus status = controller_.status(now_, job);
  const auto report = reports_.find(job.id);
  if (report != reports_.end() && !is_over(job.state)) {
    status.set_steps_done(std::max(report->second.done(), status.steps_done()));
    status.set_loss(report->second.loss());
    if (report->second.has_memory()) {
      *status.mutable_memory() = report->second.memory();
    }
  }
  return status;
}

Answered<wire::Submitted> Service::submission_of(const Caller& caller,
                                                 const wire::JobSpec& spec) const {
  if (const auto problem = validate_spec(spec)) {
    return Refusal{
        .message = problem->message, .field = problem->field, .suggestion = problem->suggestion};
  }
  wire::Submitted submitted;
  *submitted.mutable_spec() = spec;
  submitted.set_user(caller.user);
  if (!caller.tenant.empty() && caller.role != Role::Admin) {
    if (!spec.tenant().empty() && spec.tenant() != caller.tenant) {
      return Refusal{
          .kind = RefusalKind::NotPermitted,
          .message = fmt::format("{} may not submit for tenant {}", caller.user, spec.tenant()),
          .field = "tenant"};
    }
    submitted.mutable_spec()->set_tenant(caller.tenant);
  }
  if (!spec.deadline().empty()) {
    // Who writes a time of day means the system's clock: to us it is as long from now as to him.
    const Duration ahead = clock_.system_ahead();
    const auto deadline = resolve_deadline(spec.deadline(), {.now = now_ + ahead});
    if (!deadline) {
      return Refusal{.message = deadline.error().message, .field = "deadline"};
    }
    submitted.set_deadline_us((*deadline - ahead).time_since_epoch().count());
  }
  for (const wire::SpeedPoint& point : controller_.known_speeds(spec)) {
    *submitted.add_known() = point;
  }
  return submitted;
}

Answered<wire::SubmitReply> Service::submit_now(const Caller& caller, const wire::JobSpec& spec,
                                                const std::string& key) {
  const std::string hash = hash_of(spec);
  if (!key.empty()) {
    for (const JournalItem& entry : entries_) {
      if (entry.key && entry.key->user == caller.user && entry.key->key == key) {
        return answer_again(*entry.key, hash);
      }
    }
    const auto known = store_.history().find_key(caller.user, key);
    if (!known) {
      return Refusal{.kind = RefusalKind::Unavailable, .message = known.error().message};
    }
    if (*known) {
      return answer_again(**known, hash);
    }
  }
  auto made = submission_of(caller, spec);
  if (const auto* refusal = std::get_if<Refusal>(&made)) {
    return *refusal;
  }
  wire::Submitted& submitted = std::get<wire::Submitted>(made);
  if (const auto over = over_budget(submitted.spec().tenant())) {
    return *over;
  }
  submitted.set_job(next_job_++);
  submitted.set_key(key);
  wire::JournalInput input;
  *input.mutable_submitted() = submitted;
  std::optional<SubmissionKey> kept;
  if (!key.empty()) {
    kept =
        SubmissionKey{.user = caller.user, .key = key, .job = submitted.job(), .spec_hash = hash};
  }
  apply(input, kept);
  wire::SubmitReply reply;
  const LiveJob& job = *controller_.find(JobId{submitted.job()});
  *reply.mutable_job() = status_of(job);
  if (job.state == LiveState::Rejected) {
    *reply.mutable_quote() = controller_.quote(now_, submitted);
  }
  return reply;
}

Answered<wire::SubmitReply> Service::answer_again(const SubmissionKey& key,
                                                  const std::string& hash) const {
  const LiveJob* job = controller_.find(JobId{key.job});
  if (key.spec_hash != hash || job == nullptr) {
    return Refusal{.kind = RefusalKind::Conflict,
                   .message = "this idempotency key was used for another job"};
  }
  wire::SubmitReply reply;
  *reply.mutable_job() = status_of(*job);
  return reply;
}

Answered<wire::SubmitReply> Service::submit(const Caller& caller, const wire::JobSpec& spec,
                                            const std::string& key) {
  return ask<wire::SubmitReply>(
      [this, caller, spec, key] { return submit_now(caller, spec, key); });
}

Answered<wire::QuoteReply> Service::quote(const Caller& caller, const wire::JobSpec& spec) {
  return ask<wire::QuoteReply>([this, caller, spec]() -> Answered<wire::QuoteReply> {
    auto made = submission_of(caller, spec);
    if (const auto* refusal = std::get_if<Refusal>(&made)) {
      return *refusal;
    }
    return controller_.quote(now_, std::get<wire::Submitted>(made));
  });
}

Answered<wire::JobStatus> Service::job(const Caller& caller, const std::string& id) {
  return ask<wire::JobStatus>([this, caller, id]() -> Answered<wire::JobStatus> {
    const LiveJob* job = visible(caller, id);
    if (job == nullptr) {
      return no_such_job(id);
    }
    return status_of(*job);
  });
}

std::optional<wire::JobStatus> Service::status_if_asked(const Caller& caller, const JobQuery& query,
                                                        const LiveJob& job) const {
  const bool is_of_tenant = query.tenant.empty() || job.spec.tenant() == query.tenant;
  const bool is_active = query.state == "ACTIVE";
  if (!may_look(caller, job.spec) || !is_of_tenant || (is_active && is_over(job.state))) {
    return std::nullopt;
  }
  wire::JobStatus status = status_of(job);
  const bool is_in_state = query.state.empty() || is_active || status.state() == query.state;
  return is_in_state ? std::optional(std::move(status)) : std::nullopt;
}

wire::JobList Service::page_of_jobs(const Caller& caller, const JobQuery& query) const {
  wire::JobList list;
  const int size = std::clamp(query.page_size, 1, kPageMax);
  // Says whether there may be more on this page.
  const auto add = [&](const LiveJob& job) {
    auto status = status_if_asked(caller, query, job);
    if (status && list.jobs_size() == size) {
      list.set_next_page_token(list.jobs(size - 1).id());
      return false;
    }
    if (status) {
      *list.add_jobs() = *std::move(status);
    }
    return true;
  };
  const std::uint64_t before = job_id_of(query.page_token).value;
  for (const std::uint64_t id : query.ids) {
    const LiveJob* job = before == 0 || id < before ? controller_.find(JobId{id}) : nullptr;
    if (job != nullptr && !add(*job)) {
      return list;
    }
  }
  const auto& jobs = controller_.jobs();
  auto at = !query.ids.empty() ? jobs.rend()
            : before == 0      ? jobs.rbegin()
                               : std::make_reverse_iterator(jobs.lower_bound(JobId{before}));
  while (at != jobs.rend() && add(at->second)) {
    ++at;
  }
  return list;
}

Answered<wire::JobList> Service::jobs(const Caller& caller, const JobQuery& query) {
  return ask<wire::JobList>(
      [this, caller, query]() -> Answered<wire::JobList> { return page_of_jobs(caller, query); });
}

Answered<wire::JobStatus> Service::cancel(const Caller& caller, const std::string& id) {
  return ask<wire::JobStatus>([this, caller, id]() -> Answered<wire::JobStatus> {
    const LiveJob* job = visible(caller, id);
    if (job == nullptr) {
      return no_such_job(id);
    }
    if (!is_over(job->state)) {
      wire::JournalInput input;
      input.mutable_cancelled()->set_job(job->id.value);
      input.mutable_cancelled()->set_user(caller.user);
      input.mutable_cancelled()->set_reason("cancelled by " + caller.user);
      apply(input);
    }
    return status_of(*job);
  });
}

// Why the caller cannot have this job scaled so, done or only asked.
std::optional<Refusal> Service::scaling_problem(const Caller& caller, const std::string& id,
                                                const wire::WorkerLimits& workers) const {
  const LiveJob* job = visible(caller, id);
  if (job == nullptr) {
    return no_such_job(id);
  }
  if (is_over(job->state)) {
    return Refusal{.kind = RefusalKind::Conflict, .message = fmt::format("job {} is over", id)};
  }
  wire::JobSpec scaled = job->spec;
  *scaled.mutable_workers() = workers;
  if (const auto problem = validate_spec(scaled)) {
    return Refusal{
        .message = problem->message, .field = problem->field, .suggestion = problem->suggestion};
  }
  return std::nullopt;
}

Answered<wire::SubmitReply> Service::scale(const Caller& caller, const std::string& id,
                                           const wire::ScaleRequest& request) {
  return ask<wire::SubmitReply>([this, caller, id, request]() -> Answered<wire::SubmitReply> {
    if (const auto problem = scaling_problem(caller, id, request.workers())) {
      return *problem;
    }
    const LiveJob* job = visible(caller, id);
    wire::JournalInput input;
    input.mutable_scaled()->set_job(job->id.value);
    input.mutable_scaled()->set_user(caller.user);
    *input.mutable_scaled()->mutable_workers() = request.workers();
    apply(input);
    wire::SubmitReply reply;
    *reply.mutable_job() = status_of(*job);
    return reply;
  });
}

Answered<wire::WhyReply> Service::why(const Caller& caller, const std::string& id) {
  return ask<wire::WhyReply>([this, caller, id]() -> Answered<wire::WhyReply> {
    const LiveJob* job = visible(caller, id);
    const auto why = job == nullptr ? Result<wire::WhyReply>(Error{.message = {}})
                                    : controller_.why(now_, job->id);
    if (!why) {
      return no_such_job(id);
    }
    return *why;
  });
}

Answered<wire::BlameReply> Service::blame(const Caller& caller, const std::string& id) {
  return ask<wire::BlameReply>([this, caller, id]() -> Answered<wire::BlameReply> {
    const LiveJob* job = visible(caller, id);
    if (job == nullptr) {
      return no_such_job(id);
    }
    wire::BlameReply reply;
    for (const ResizeRecord& resize : job->resizes) {
      wire::BlameEntry& entry = *reply.add_entries();
      *entry.mutable_at() = to_timestamp(resize.at).value_or(google::protobuf::Timestamp{});
      entry.set_workers_before(resize.before);
      entry.set_workers_after(resize.after);
      entry.set_cause(resize.cause);
      entry.set_caused_by(resize.caused_by);
    }
    return reply;
  });
}

Answered<Platform::LogPart> Service::logs(const Caller& caller, const std::string& id,
                                          std::uint64_t from) {
  const auto found = job(caller, id);
  if (const auto* refusal = std::get_if<Refusal>(&found)) {
    return *refusal;
  }
  const bool is_ended = std::get<wire::JobStatus>(found).has_finished();
  auto path = std::filesystem::path(options_.state_directory) / "jobs" / id / "logs" / "log";
  std::error_code unseen;
  if (!options_.shared_directory.empty() && !std::filesystem::exists(path, unseen)) {
    path = std::filesystem::path(options_.shared_directory) / id / "logs" / "log";
  }
  const auto part = read_log(path, {.from = from, .is_ended = is_ended});
  if (!part) {
    return Refusal{.kind = RefusalKind::Unavailable, .message = part.error().message};
  }
  return LogPart{
      .text = part->text, .next = part->next, .is_over = is_ended && part->next >= part->size};
}

wire::VersionReply Service::version() {
  wire::VersionReply reply;
  reply.set_version(options_.version);
  const auto policy = this->policy({});
  if (const auto* status = std::get_if<wire::PolicyStatus>(&policy)) {
    reply.set_policy(status->live());
  }
  return reply;
}

wire::EventList Service::events(const Caller& caller, std::uint64_t sequence, int limit) {
  const auto found = store_.history().events_after(sequence, limit);
  wire::EventList list;
  list.set_next_sequence(sequence);
  if (!found || found->empty()) {
    return list;
  }
  list.set_next_sequence(found->back().sequence());
  if (caller.role == Role::Admin || caller.tenant.empty()) {
    list.mutable_events()->Assign(found->begin(), found->end());
    return list;
  }
  auto filtered = ask<wire::EventList>([&]() -> Answered<wire::EventList> {
    for (const wire::EventRecord& event : *found) {
      if (event.job().empty() || visible(caller, event.job()) != nullptr) {
        *list.add_events() = event;
      }
    }
    return list;
  });
  const auto* all = std::get_if<wire::EventList>(&filtered);
  return all == nullptr ? wire::EventList{} : *all;
}

}  // namespace rubato
