// A platform for tests of the REST interface: tables in memory, no scheduling.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/parse.h"
#include "rubato/live/service/memory_cluster_test.h"
#include "rubato/live/service/platform.h"

namespace rubato {

/// Jobs belong to the tenant of their caller; others do not see them. Steps below one are a bad
/// request, a deadline of `never` is Infeasible, one of `now` a job that is refused.
class MemoryPlatform final : public MemoryCluster {
 public:
  Answered<wire::SubmitReply> submit(const Caller& caller, const wire::JobSpec& spec,
                                     const std::string& key) override {
    const std::lock_guard lock(mutex_);
    if (const auto found = submissions_.find(key); !key.empty() && found != submissions_.end()) {
      if (found->second.first != spec.SerializeAsString()) {
        return Refusal{.kind = RefusalKind::Conflict,
                       .message = "the key was used for another job"};
      }
      return found->second.second;
    }
    if (auto refusal = problem_of(spec)) {
      return *refusal;
    }
    wire::SubmitReply reply;
    auto& job = *reply.mutable_job();
    job.set_id(std::to_string(jobs_.size() + 1));
    *job.mutable_spec() = spec;
    if (!caller.tenant.empty()) {
      job.mutable_spec()->set_tenant(caller.tenant);
    }
    job.set_user(caller.user);
    job.set_state(spec.deadline() == "now" ? "REJECTED" : "PENDING");
    reply.mutable_quote()->set_admitted(spec.deadline() != "now");
    jobs_.push_back(job);
    submissions_[key] = {spec.SerializeAsString(), reply};
    return reply;
  }

  Answered<wire::QuoteReply> quote(const Caller& /*caller*/, const wire::JobSpec& spec) override {
    if (auto refusal = problem_of(spec)) {
      return *refusal;
    }
    wire::QuoteReply reply;
    reply.set_admitted(true);
    reply.set_gpu_hours(spec.steps());
    return reply;
  }

  Answered<wire::JobStatus> job(const Caller& caller, const std::string& id) override {
    const std::lock_guard lock(mutex_);
    return with_job<wire::JobStatus>(caller, id, [](wire::JobStatus& job) { return job; });
  }

  Answered<wire::JobList> jobs(const Caller& caller, const JobQuery& query) override {
    const std::lock_guard lock(mutex_);
    wire::JobList list;
    const auto begin = parse_int(query.page_token.empty() ? "0" : query.page_token);
    if (!begin || *begin < 0) {
      return Refusal{.message = "page_token: not one of ours", .field = "page_token"};
    }
    for (auto i = static_cast<std::size_t>(*begin); i < jobs_.size(); ++i) {
      if (!is_seen_by(caller, jobs_[i]) ||
          (!query.state.empty() && jobs_[i].state() != query.state) ||
          (!query.tenant.empty() && jobs_[i].spec().tenant() != query.tenant)) {
        continue;
      }
      if (list.jobs_size() == query.page_size) {
        list.set_next_page_token(std::to_string(i));
        break;
      }
      *list.add_jobs() = jobs_[i];
    }
    return list;
  }

  Answered<wire::JobStatus> cancel(const Caller& caller, const std::string& id) override {
    const std::lock_guard lock(mutex_);
    return with_job<wire::JobStatus>(caller, id, [](wire::JobStatus& job) {
      job.set_state("CANCELLED");
      return job;
    });
  }

  Answered<wire::SubmitReply> scale(const Caller& caller, const std::string& id,
                                    const wire::ScaleRequest& request) override {
    const std::lock_guard lock(mutex_);
    return with_job<wire::SubmitReply>(caller, id, [&request](wire::JobStatus& job) {
      *job.mutable_spec()->mutable_workers() = request.workers();
      wire::SubmitReply reply;
      *reply.mutable_job() = job;
      return reply;
    });
  }

  Answered<wire::WhyReply> why(const Caller& caller, const std::string& id) override {
    const std::lock_guard lock(mutex_);
    return with_job<wire::WhyReply>(caller, id, [](wire::JobStatus& job) {
      wire::WhyReply reply;
      reply.set_job(job.id());
      reply.set_reason("WaitingCapacity");
      return reply;
    });
  }

  Answered<wire::BlameReply> blame(const Caller& caller, const std::string& id) override {
    const std::lock_guard lock(mutex_);
    return with_job<wire::BlameReply>(caller, id, [](wire::JobStatus& job) {
      wire::BlameReply reply;
      reply.add_entries()->set_caused_by(job.user());
      return reply;
    });
  }

  Answered<LogPart> logs(const Caller& caller, const std::string& id, std::uint64_t from) override {
    const std::lock_guard lock(mutex_);
    return with_job<LogPart>(caller, id, [this, &id, from](wire::JobStatus& job) {
      const std::string& all = logs_[id];
      const std::size_t begin = std::min<std::size_t>(from, all.size());
      const std::string text = all.substr(begin, kLogBytes);
      const bool is_over = job.state() == "SUCCEEDED" && begin + text.size() == all.size();
      return LogPart{.text = text, .next = begin + text.size(), .is_over = is_over};
    });
  }

  wire::EventList events(const Caller& /*caller*/, std::uint64_t sequence, int limit) override {
    const std::lock_guard lock(mutex_);
    wire::EventList list;
    list.set_next_sequence(sequence);
    for (const wire::EventRecord& event : events_) {
      if (event.sequence() > sequence && list.events_size() < limit) {
        *list.add_events() = event;
        list.set_next_sequence(event.sequence());
      }
    }
    return list;
  }

  std::uint64_t subscribe(std::function<void()> listener) override {
    const std::lock_guard lock(mutex_);
    listeners_[++last_subscription_] = std::move(listener);
    return last_subscription_;
  }
  void unsubscribe(std::uint64_t subscription) override {
    const std::lock_guard lock(mutex_);
    listeners_.erase(subscription);
  }
  std::string metrics() override { return "# HELP rubato_jobs Jobs.\n"; }
  bool is_ready() override { return is_ready_; }

  // What tests do behind the interface's back.

  void publish(const std::string& type) {
    std::map<std::uint64_t, std::function<void()>> listeners;
    {
      const std::lock_guard lock(mutex_);
      auto& event = events_.emplace_back();
      event.set_sequence(events_.size());
      event.set_type(type);
      listeners = listeners_;
    }
    for (const auto& [subscription, listener] : listeners) {
      listener();
    }
  }
  void add_log(const std::string& id, const std::string& text) {
    const std::lock_guard lock(mutex_);
    logs_[id] += text;
  }
  void finish(const std::string& id) {
    const std::lock_guard lock(mutex_);
    jobs_[std::stoul(id) - 1].set_state("SUCCEEDED");
  }
  void set_ready(bool is_ready) { is_ready_ = is_ready; }
  [[nodiscard]] std::size_t listeners() {
    const std::lock_guard lock(mutex_);
    return listeners_.size();
  }

 private:
  static constexpr std::size_t kLogBytes = 64;

  static std::optional<Refusal> problem_of(const wire::JobSpec& spec) {
    if (spec.steps() < 1) {
      return Refusal{.message = "steps: expected at least 1", .field = "steps"};
    }
    if (spec.deadline() == "never") {
      return Refusal{
          .kind = RefusalKind::Infeasible, .message = "no such day", .field = "deadline"};
    }
    if (spec.deadline() == "starting") {
      return Refusal{.kind = RefusalKind::Unavailable, .message = "still reading the journal"};
    }
    return std::nullopt;
  }

  static bool is_seen_by(const Caller& caller, const wire::JobStatus& job) {
    return caller.tenant.empty() || caller.tenant == job.spec().tenant();
  }

  template <typename T, typename Then>
  Answered<T> with_job(const Caller& caller, const std::string& id, Then then) {
    const auto found = std::ranges::find(jobs_, id, [](const auto& job) { return job.id(); });
    if (found == jobs_.end() || !is_seen_by(caller, *found)) {
      return Refusal{.kind = RefusalKind::NotFound, .message = "no job '" + id + "'"};
    }
    return then(*found);
  }

  std::mutex mutex_{};
  std::vector<wire::JobStatus> jobs_{};
  std::map<std::string, std::pair<std::string, wire::SubmitReply>> submissions_{};
  std::map<std::string, std::string> logs_{};
  std::vector<wire::EventRecord> events_{};
  std::map<std::uint64_t, std::function<void()>> listeners_{};
  std::uint64_t last_subscription_ = 0;
  std::atomic<bool> is_ready_{true};
};

}  // namespace rubato
