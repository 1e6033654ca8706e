#include "rubato/cli/client/submit_verbs.h"

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/client/job_flags.h"
#include "rubato/cli/client/job_follow.h"
#include "rubato/cli/client/platform_client.h"
#include "rubato/cli/client/verb_answer.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/text/quote_text.h"
#include "rubato/cli/text/wall_clock.h"
#include "rubato/cli/train/check_verb.h"
#include "rubato/spec/job_schema.h"

namespace rubato {
namespace {

/// What run, submit and quote were asked for.
struct SubmitFlags {
  ClientFlags client{};
  JobFlags job{};
  std::string key{};
  bool is_detached = false;
  bool is_strict = false;
  bool is_quiet = false;
  bool waits = false;
  bool prints_schema = false;
  bool is_unchecked = false;
};

// Makes a submission that is sent twice the same submission.
std::string fresh_key() {
  std::random_device source;
  const auto half = [&] { return (std::uint64_t{source()} << 32) | source(); };
  const std::uint64_t first = half();
  return fmt::format("{:016x}{:016x}", first, half());
}

/// A submission that was answered, or the exit code if it was not.
struct Submission {
  int exit_code = kExitOk;
  wire::SubmitReply reply{};
};

// What would be promised now. The answer to a submission has a quote only if it is a refusal, since
// most submissions come from programs; a failure here is told by the submission as well.
void ask_quote(PlatformClient& client, const wire::JobSpec& spec, wire::QuoteReply& quote) {
  if (client.post("/v1/quotes", spec, quote)) {
    quote.Clear();
  }
}

// The quote to show: the submission's own if it has one.
std::string shown_quote(const Submission& made, const wire::QuoteReply& before) {
  if (made.reply.has_quote()) {
    return quote_text(made.reply.quote(), local_wall_clock());
  }
  return before.admitted() && made.exit_code == kExitOk ? quote_text(before, local_wall_clock())
                                                        : "";
}

Submission send_job(const char* verb, PlatformClient& client, const wire::JobSpec& spec,
                    const std::string& key) {
  Submission made;
  const auto failure = client.call({.method = "POST",
                                    .target = "/v1/jobs",
                                    .body = request_json(spec),
                                    .headers = {{"Idempotency-Key", key}}},
                                   made.reply);
  if (failure) {
    made.exit_code = explain_failure(verb, *failure);
  } else if (made.reply.job().state() == "REJECTED") {
    made.exit_code = kExitRefused;
  }
  return made;
}

std::string admitted_line(const PlatformClient& client, const wire::JobStatus& job) {
  return fmt::format(" job {} {}   {}/jobs/{}\n", job.id(), job.state(),
                     to_string(client.options().server), job.id());
}

int run_and_follow(const SubmitFlags& flags) {
  const auto spec = described_job(flags.job, local_setting());
  if (!spec) {
    return explain_failure("run", spec.error());
  }
  auto client = PlatformClient::open(flags.client);
  if (!client) {
    return explain_failure("run", client.error());
  }
  if (!flags.is_unchecked && !passes_short_check(*spec)) {
    fmt::print(stderr, "rubato run: not submitted; --no-check submits it all the same\n");
    return kExitBadInput;
  }
  wire::QuoteReply quote;
  ask_quote(*client, *spec, quote);
  const Submission made =
      send_job("run", *client, *spec, flags.key.empty() ? fresh_key() : flags.key);
  fmt::print(stderr, "{}", shown_quote(made, quote));
  if (made.exit_code != kExitOk) {
    if (flags.client.prints_json && made.exit_code == kExitRefused) {
      fmt::print("{}", client->json());
    }
    return made.exit_code;
  }
  fmt::print(stderr, "{}", admitted_line(*client, made.reply.job()));
  if (flags.is_detached) {
    fmt::print("{}", flags.client.prints_json ? client->json() : made.reply.job().id() + "\n");
    return kExitOk;
  }
  return follow_job(*client, made.reply.job().id(),
                    {.is_strict = flags.is_strict, .prints_json = flags.client.prints_json});
}

int submit_job(const SubmitFlags& flags) {
  if (flags.prints_schema) {
    fmt::print("{}", job_schema());
    return kExitOk;
  }
  if (flags.job.first_word.empty()) {
    fmt::print(stderr, "rubato submit: expected a job file; `rubato run` takes a command\n");
    return kExitUsage;
  }
  const auto spec = described_job(flags.job, local_setting(), /*is_file_first=*/true);
  if (!spec) {
    return explain_failure("submit", spec.error());
  }
  auto client = PlatformClient::open(flags.client);
  if (!client) {
    return explain_failure("submit", client.error());
  }
  const bool is_shown = !flags.is_quiet && !flags.client.prints_json;
  wire::QuoteReply quote;
  if (is_shown) {
    ask_quote(*client, *spec, quote);
  }
  const Submission made =
      send_job("submit", *client, *spec, flags.key.empty() ? fresh_key() : flags.key);
  if (made.exit_code != kExitOk && made.exit_code != kExitRefused) {
    return made.exit_code;
  }
  if (is_shown) {
    fmt::print(stderr, "{}", shown_quote(made, quote));
  }
  if (flags.client.prints_json && !(flags.waits && made.exit_code == kExitOk)) {
    fmt::print("{}", client->json());
  } else if (made.exit_code == kExitOk && !flags.client.prints_json) {
    fmt::print("{}\n", made.reply.job().id());
    std::fflush(stdout);
  }
  if (made.exit_code != kExitOk || !flags.waits) {
    return made.exit_code;
  }
  return follow_job(*client, made.reply.job().id(),
                    {.verb = "submit",
                     .shows_log = false,
                     .is_strict = flags.is_strict,
                     .prints_json = flags.client.prints_json});
}

int quote_job(const SubmitFlags& flags) {
  const auto spec = described_job(flags.job, local_setting());
  if (!spec) {
    return explain_failure("quote", spec.error());
  }
  bool is_admitted = false;
  const int code = ask_platform<wire::QuoteReply>(
      "quote", flags.client,
      {.method = "POST", .target = "/v1/quotes", .body = request_json(*spec)},
      [](const wire::QuoteReply& quote) { return quote_text(quote, local_wall_clock()); },
      [&](const wire::QuoteReply& quote) { is_admitted = quote.admitted(); });
  return code == kExitOk && !is_admitted ? kExitRefused : code;
}

void add_run(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "run",
      "Run a training program under a promise, follow its log and return its exit code: rubato run "
      "--deadline 18:00 --steps 12000 -- python3 train.py");
  const auto flags = std::make_shared<SubmitFlags>();
  add_job_flags(*verb, flags->job);
  add_job_words(*verb, flags->job);
  verb->add_flag("-d,--detach", flags->is_detached, "Print the job's id and leave");
  verb->add_flag("--no-check", flags->is_unchecked,
                 "Do not try the script's first steps here before it is submitted");
  verb->add_flag("--strict-deadline", flags->is_strict,
                 "Return 81 if the job finishes after its promise");
  verb->add_option("--key", flags->key,
                   "Idempotency key: a second submission with it is the same job");
  add_client_flags(*verb, flags->client);
  verb->callback([flags, &exit_code] { exit_code = run_and_follow(*flags); });
}

void add_submit(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "submit", "Submit a job file and print the job's id: rubato submit job.yaml");
  const auto flags = std::make_shared<SubmitFlags>();
  add_job_flags(*verb, flags->job);
  add_job_words(*verb, flags->job,
                {.first = "file",
                 .first_help = "The job file, - for standard input",
                 .others = "command",
                 .others_help = "After --: a command in place of the file's own"});
  verb->add_flag("-q,--quiet", flags->is_quiet, "Print nothing but the id");
  verb->add_flag("-w,--wait", flags->waits, "Wait for the job's end and return its exit code");
  verb->add_flag("--strict-deadline", flags->is_strict,
                 "With --wait: return 81 if the job finishes after its promise");
  verb->add_flag("--schema", flags->prints_schema, "Print the JSON Schema of job files and leave");
  verb->add_option("--key", flags->key,
                   "Idempotency key: a second submission with it is the same job");
  add_client_flags(*verb, flags->client);
  verb->callback([flags, &exit_code] { exit_code = submit_job(*flags); });
}

void add_quote(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "quote", "Ask what would be promised, without submitting: rubato quote job.yaml");
  const auto flags = std::make_shared<SubmitFlags>();
  add_job_flags(*verb, flags->job);
  add_job_words(*verb, flags->job);
  add_client_flags(*verb, flags->client);
  verb->callback([flags, &exit_code] { exit_code = quote_job(*flags); });
}

}  // namespace

void add_submit_verbs(CLI::App& app, int& exit_code) {
  add_run(app, exit_code);
  add_submit(app, exit_code);
  add_quote(app, exit_code);
}

}  // namespace rubato
