#include "rubato/cli/client/job_verbs.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rubato/base/spelling.h"
#include "rubato/cli/client/event_stream.h"
#include "rubato/cli/client/log_follower.h"
#include "rubato/cli/client/verb_answer.h"
#include "rubato/cli/client/watch.h"
#include "rubato/cli/client/what_if_answer.h"
#include "rubato/cli/process/interrupt_count.h"
#include "rubato/cli/text/job_table.h"
#include "rubato/cli/text/metric_text.h"
#include "rubato/cli/text/quote_text.h"
#include "rubato/cli/text/terminal.h"
#include "rubato/cli/text/wall_clock.h"
#include "rubato/cli/text/why_text.h"
#include "rubato/spec/job_values.h"

namespace rubato {
namespace {

constexpr int kPageMax = 1'000;  // Jobs of one answer.
constexpr Duration kReadPatience = std::chrono::milliseconds(100);

/// What a verb on jobs was asked for; each uses some of it.
struct JobVerbFlags {
  ClientFlags client{};
  std::string job{};
  std::string state{};
  std::string tenant{};
  std::string workers{};
  std::vector<std::string> names{};
  int limit = 10'000;
  std::uint64_t since = 0;
  bool is_quiet = false;
  bool watches = false;
  bool follows = false;
  bool is_dry = false;
};

// Pages of jobs, put together. The JSON is the server's own if there is but one page.
std::optional<CallFailure> get_jobs(PlatformClient& client, const JobVerbFlags& flags,
                                    wire::JobList& all, std::string& json) {
  std::string state = flags.state;
  std::ranges::transform(state, state.begin(),
                         [](unsigned char letter) { return std::toupper(letter); });
  std::string token;
  int pages = 0;
  do {
    const int size = std::min(kPageMax, flags.limit - all.jobs_size());
    wire::JobList page;
    if (auto failure = client.get(
            fmt::format("/v1/jobs?page_size={}&state={}&tenant={}&page_token={}", size,
                        url_escaped(state), url_escaped(flags.tenant), url_escaped(token)),
            page)) {
      return failure;
    }
    token = page.next_page_token();
    all.MergeFrom(page);
    all.set_next_page_token(token);
    ++pages;
  } while (!token.empty() && all.jobs_size() < flags.limit);
  json = pages == 1 ? client.json() : request_json(all) + "\n";
  return std::nullopt;
}

std::string list_text(const JobVerbFlags& flags, const wire::JobList& list,
                      const std::string& json) {
  if (flags.client.prints_json) {
    return json;
  }
  if (!flags.is_quiet) {
    return job_table(list, local_wall_clock(), shows_colour());
  }
  std::string ids;
  for (const wire::JobStatus& job : list.jobs()) {
    ids += job.id() + "\n";
  }
  return ids;
}

int list_jobs(const JobVerbFlags& flags) {
  auto client = PlatformClient::open(flags.client);
  if (!client) {
    return explain_failure("list", client.error());
  }
  int code = kExitOk;
  const auto make = [&] {
    wire::JobList list;
    std::string json;
    if (const auto failure = get_jobs(*client, flags, list, json)) {
      code = explain_failure("list", *failure);
      return WatchedText{.is_last = true};
    }
    return WatchedText{.text = list_text(flags, list, json)};
  };
  if (flags.watches) {
    watch_text(make);
  } else {
    fmt::print("{}", make().text);
  }
  return code;
}

int show_status(const JobVerbFlags& flags) {
  auto client = PlatformClient::open(flags.client);
  if (!client) {
    return explain_failure("status", client.error());
  }
  int code = kExitOk;
  const auto make = [&] {
    wire::JobStatus job;
    if (const auto failure = client->get(job_target(flags.job), job)) {
      code = explain_failure("status", *failure);
      return WatchedText{.is_last = true};
    }
    return WatchedText{.text = flags.client.prints_json
                                   ? client->json()
                                   : job_page(job, local_wall_clock(), shows_colour()),
                       .is_last = is_final(job)};
  };
  if (flags.watches) {
    watch_text(make);
  } else {
    fmt::print("{}", make().text);
  }
  return code;
}

void print_part(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int follow_log(const WebOptions& options, const std::string& job) {
  LogFollower log(options, job, 0);
  const InterruptCount signals;
  while (!log.is_over() && signals.interrupts() == 0 && !signals.is_told_to_end()) {
    print_part(log.read(kReadPatience));
    if (log.failure()) {
      return explain_failure("logs", *log.failure());
    }
  }
  return kExitOk;
}

// The log as far as it goes; the server sends it in parts.
int print_log(const WebOptions& options, const std::string& job) {
  WebClient client(options);
  for (std::uint64_t from = 0;;) {
    const auto part = client.send({.target = job_target(job, fmt::format("/logs?from={}", from))});
    if (!part) {
      return explain_failure("logs", part.error());
    }
    if (part->status < 200 || part->status >= 300) {
      return explain_failure("logs", failure_of(*part));
    }
    if (part->body.empty()) {
      return kExitOk;
    }
    print_part(part->body);
    from += part->body.size();
  }
}

int show_logs(const JobVerbFlags& flags) {
  const auto options = web_options(flags.client);
  if (!options) {
    return explain_failure("logs", options.error());
  }
  return flags.follows ? follow_log(*options, flags.job) : print_log(*options, flags.job);
}

int scale_job(const JobVerbFlags& flags) {
  const auto limits = parse_workers(flags.workers);
  if (!limits) {
    return explain_failure("scale", bad_input("--workers: " + limits.error().message));
  }
  if (flags.is_dry) {
    wire::WhatIfRequest question;
    question.mutable_scale()->set_job(flags.job);
    *question.mutable_scale()->mutable_workers() = *limits;
    return ask_what_if("scale", flags.client, question);
  }
  wire::ScaleRequest request;
  *request.mutable_workers() = *limits;
  bool is_refused = false;
  const int code = ask_platform<wire::SubmitReply>(
      "scale", flags.client,
      {.method = "POST", .target = job_target(flags.job, "/scale"), .body = request_json(request)},
      [](const wire::SubmitReply& reply) {
        return fmt::format("job {} accepts {} workers\n{}", reply.job().id(),
                           workers_text(reply.job().spec().workers()),
                           reply.has_quote() ? quote_text(reply.quote(), local_wall_clock()) : "");
      },
      [&](const wire::SubmitReply& reply) {
        is_refused = reply.has_quote() && !reply.quote().admitted();
      });
  return code == kExitOk && is_refused ? kExitRefused : code;
}

int show_events(const JobVerbFlags& flags) {
  if (!flags.follows) {
    return ask_platform<wire::EventList>(
        "events", flags.client, {.target = fmt::format("/v1/events?since={}", flags.since)},
        [](const wire::EventList& list) {
          std::string text;
          for (const wire::EventRecord& event : list.events()) {
            text += event_text(event, local_wall_clock());
          }
          return text;
        });
  }
  const auto options = web_options(flags.client);
  if (!options) {
    return explain_failure("events", options.error());
  }
  EventFollower events(*options, std::to_string(flags.since));
  const InterruptCount signals;
  while (signals.interrupts() == 0 && !signals.is_told_to_end()) {
    for (const wire::EventRecord& event : events.read(kReadPatience)) {
      print_part(flags.client.prints_json ? request_json(event) + "\n"
                                          : event_text(event, local_wall_clock()));
    }
    if (events.failure()) {
      return explain_failure("events", *events.failure());
    }
  }
  return kExitOk;
}

int show_metrics(const JobVerbFlags& flags) {
  const std::string names = url_escaped(fmt::format("{}", fmt::join(flags.names, ",")));
  int code = kExitOk;
  const int asked = ask_platform<wire::JobMetricsReply>(
      "metrics", flags.client,
      {.target = job_target(flags.job, "/metrics" + (names.empty() ? "" : "?names=" + names))},
      metrics_text, [&](const wire::JobMetricsReply& reply) {
        for (const std::string& name : flags.names) {
          if (std::ranges::find(reply.names(), name) == reply.names().end()) {
            const std::vector<std::string_view> known(reply.names().begin(), reply.names().end());
            explain_failure("metrics",
                            bad_input(fmt::format("job {} has no metric '{}'{}", flags.job, name,
                                                  suggestion(name, known))));
            code = kExitNotFound;
          }
        }
      });
  return asked == kExitOk ? code : asked;
}

using JobVerb = int (*)(const JobVerbFlags&);

// A verb with the flags of all, and a job if `takes_job`.
CLI::App* add_job_verb(CLI::App& app, const std::string& name, const std::string& about,
                       const std::shared_ptr<JobVerbFlags>& flags, bool takes_job) {
  CLI::App* verb = app.add_subcommand(name, about);
  if (takes_job) {
    verb->add_option("job", flags->job, "The job's id")->required();
  }
  add_client_flags(*verb, flags->client);
  return verb;
}

void set_verb(CLI::App* verb, const std::shared_ptr<JobVerbFlags>& flags, int& exit_code,
              JobVerb run) {
  verb->callback([flags, &exit_code, run] { exit_code = run(*flags); });
}

int explain_job(const JobVerbFlags& flags) {
  return ask_platform<wire::WhyReply>("why", flags.client,
                                      {.target = job_target(flags.job, "/why")}, why_text);
}

int blame_for_job(const JobVerbFlags& flags) {
  return ask_platform<wire::BlameReply>(
      "blame", flags.client, {.target = job_target(flags.job, "/blame")},
      [](const wire::BlameReply& blame) { return blame_text(blame, local_wall_clock()); });
}

int cancel_job(const JobVerbFlags& flags) {
  return ask_platform<wire::JobStatus>(
      "cancel", flags.client,
      {.method = "POST", .target = job_target(flags.job, "/cancel"), .body = "{}"},
      [](const wire::JobStatus& job) { return fmt::format("job {} {}\n", job.id(), job.state()); });
}

void add_looks(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<JobVerbFlags>();
  CLI::App* status = add_job_verb(app, "status", "Show how a job stands", flags, true);
  status->add_flag("--watch", flags->watches, "Show it again until the job is over");
  set_verb(status, flags, exit_code, show_status);

  flags = std::make_shared<JobVerbFlags>();
  CLI::App* list = add_job_verb(app, "list", "List jobs", flags, false);
  list->add_option("--state", flags->state, "Only jobs in this state, such as RUNNING");
  list->add_option("--tenant", flags->tenant, "Only jobs of this tenant");
  list->add_option("--limit", flags->limit, "At most so many")->check(CLI::Range(1, 1'000'000));
  list->add_flag("-q,--quiet", flags->is_quiet, "Print nothing but ids");
  list->add_flag("--watch", flags->watches, "Show it again until Ctrl-C");
  set_verb(list, flags, exit_code, list_jobs);

  flags = std::make_shared<JobVerbFlags>();
  CLI::App* logs = add_job_verb(app, "logs", "Print a job's log", flags, true);
  logs->add_flag("-f,--follow", flags->follows, "Go on until the job is over");
  set_verb(logs, flags, exit_code, show_logs);

  flags = std::make_shared<JobVerbFlags>();
  CLI::App* metrics =
      add_job_verb(app, "metrics", "Show what a job's program logs or prints", flags, true);
  metrics->add_option("--name", flags->names, "Only this metric; may be repeated");
  set_verb(metrics, flags, exit_code, show_metrics);

  flags = std::make_shared<JobVerbFlags>();
  CLI::App* events = add_job_verb(app, "events", "Print what happened", flags, false);
  events->add_option("--since", flags->since, "Only events after this number");
  events->add_flag("-f,--follow", flags->follows, "Go on until Ctrl-C");
  set_verb(events, flags, exit_code, show_events);
}

}  // namespace

void add_job_verbs(CLI::App& app, int& exit_code) {
  add_looks(app, exit_code);

  auto flags = std::make_shared<JobVerbFlags>();
  CLI::App* why = add_job_verb(
      app, "why", "Say why a job stands as it does, and what would change that", flags, true);
  set_verb(why, flags, exit_code, explain_job);

  flags = std::make_shared<JobVerbFlags>();
  CLI::App* blame =
      add_job_verb(app, "blame", "Say who changed a job's workers, and why", flags, true);
  set_verb(blame, flags, exit_code, blame_for_job);

  flags = std::make_shared<JobVerbFlags>();
  CLI::App* cancel = add_job_verb(app, "cancel", "End a job", flags, true);
  set_verb(cancel, flags, exit_code, cancel_job);

  flags = std::make_shared<JobVerbFlags>();
  CLI::App* scale =
      add_job_verb(app, "scale", "Change how many workers a job accepts", flags, true);
  scale->add_option("--workers", flags->workers, "4, 1-8 or 1,2,4")->required();
  scale->add_flag("--dry-run", flags->is_dry, "Only say what it would do, to this job and others");
  set_verb(scale, flags, exit_code, scale_job);
}

}  // namespace rubato
