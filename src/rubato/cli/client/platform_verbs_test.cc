// The verbs against a server of a few lines: what they ask for, print and return.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "rubato/cli/client/client_flags.h"
#include "rubato/cli/client/job_flags.h"
#include "rubato/cli/client/platform_client.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/program.h"
#include "rubato/http/tiny_web_test.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

struct Told {
  int code = -1;
  std::string out{};
  std::string error{};
};

Told told(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "rubato");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Told made;
  made.code = run_program(arguments);
  made.out = testing::internal::GetCapturedStdout();
  made.error = testing::internal::GetCapturedStderr();
  return made;
}

/// Answers by method and path.
class Verbs : public testing::Test {
 protected:
  Verbs()
      : server_([this](const TinyRequest& request) {
          const auto found = answers_.find(request.route());
          return found == answers_.end() ? web_answer(404, R"({"detail": "nothing here"})")
                                         : found->second;
        }) {}

  Told ask(std::vector<std::string> arguments, const std::vector<std::string>& command = {}) {
    arguments.insert(arguments.end(), {"--server", server_.url()});
    if (!command.empty()) {
      arguments.emplace_back("--");
      arguments.insert(arguments.end(), command.begin(), command.end());
    }
    return told(std::move(arguments));
  }

  void answer(const std::string& route, const std::string& body) {
    answers_[route] = web_answer(200, body);
  }

  wire::JobSpec sent_job() {
    wire::JobSpec spec;
    for (const TinyRequest& request : server_.requests()) {
      if (request.line.starts_with("POST")) {
        spec.Clear();
        EXPECT_TRUE(read_answer(request.body, spec)) << request.body;
      }
    }
    return spec;
  }

  std::map<std::string, std::string> answers_{};  // Filled before the first request.
  TinyWeb server_;
};

constexpr const char* kAdmitted = R"({"job": {"id": "42", "state": "ADMITTED"}})";

TEST_F(Verbs, RunStreamsTheLogAndReturnsTheJobsCode) {
  answer("POST /v1/quotes", R"({"admitted": true, "gpu_hours": 3})");
  answer("POST /v1/jobs", kAdmitted);
  answer("GET /v1/jobs/42", R"({"id": "42", "state": "FAILED", "exit_code": 3})");
  answers_["GET /v1/jobs/42/logs"] = web_stream_head("text/plain") + web_chunk("[rank0] step 1\n") +
                                     web_chunk("[rank0] bye\n") + web_chunk("");

  const Told run = ask({"run", "--steps", "100", "--deadline", "6h", "--env", "A=1", "--env", "B=2",
                        "--workers", "1-8"},
                       {"python3", "train.py", "--lr", "0.1"});

  EXPECT_EQ(run.code, 3);
  EXPECT_EQ(run.out, "[rank0] step 1\n[rank0] bye\n");
  EXPECT_NE(run.error.find(" quote      finish unknown   3 GPU-hours\n"), std::string::npos);
  EXPECT_NE(run.error.find(" job 42 ADMITTED   "), std::string::npos) << run.error;
  EXPECT_NE(run.error.find("job 42 FAILED"), std::string::npos);
  const wire::JobSpec spec = sent_job();
  EXPECT_EQ(spec.steps(), 100);
  EXPECT_EQ(spec.command_size(), 4);
  EXPECT_EQ(spec.command(2), "--lr");
  EXPECT_EQ(spec.name(), "train");
  EXPECT_EQ(spec.environment().at("B"), "2");
  EXPECT_EQ(spec.workers().max(), 8);
  EXPECT_TRUE(parse_rfc3339(spec.deadline()));
  EXPECT_EQ(spec.working_directory(), fs::current_path().string());
  EXPECT_EQ(server_.requests().at(1).line, "POST /v1/jobs HTTP/1.1");
  EXPECT_TRUE(server_.requests().at(1).has("Idempotency-Key: "));
}

TEST_F(Verbs, RunSaysWhatCouldBePromisedInstead) {
  answer("POST /v1/jobs",
         R"({"job": {"id": "42", "state": "REJECTED"}, "quote": {"message": "cannot promise 1s",
             "offers": [{"kind": "best_effort"}]}})");

  const Told run = ask({"run", "--steps", "100", "--deadline", "1s"}, {"true"});

  EXPECT_EQ(run.code, kExitRefused);
  EXPECT_NE(run.error.find("cannot promise 1s"), std::string::npos);
  EXPECT_NE(run.error.find("   --class best_effort"), std::string::npos);
}

TEST_F(Verbs, OffersOfAProblemAreShownToo) {
  answers_["POST /v1/jobs"] =
      web_answer(422, R"({"detail": "no room", "offers": [{"kind": "more_gpus", "gpus": 4}]})",
                 "application/problem+json");

  const Told run = ask({"run", "--steps", "100", "--deadline", "1s"}, {"true"});

  EXPECT_EQ(run.code, kExitRefused);
  EXPECT_NE(run.error.find("rubato run: no room\n"), std::string::npos);
  EXPECT_NE(run.error.find("4 more GPUs"), std::string::npos);
}

TEST_F(Verbs, StrictRunsKnowAMissedDeadline) {
  answer("POST /v1/jobs", kAdmitted);
  answer("GET /v1/jobs/42", R"({"id": "42", "state": "SUCCEEDED", "missed": true})");
  answers_["GET /v1/jobs/42/logs"] = web_stream_head("text/plain") + web_chunk("");

  EXPECT_EQ(ask({"run", "--steps", "1"}, {"true"}).code, 0);
  EXPECT_EQ(ask({"run", "--steps", "1", "--strict-deadline"}, {"true"}).code, kExitMissed);
}

TEST_F(Verbs, RunDetachedPrintsTheId) {
  answer("POST /v1/jobs", kAdmitted);

  const Told run = ask({"run", "--steps", "1", "--detach"}, {"true"});

  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "42\n");
}

TEST_F(Verbs, AnInterruptedRunLeavesTheJobAlone) {
  answer("POST /v1/jobs", kAdmitted);
  answers_["GET /v1/jobs/42/logs"] = web_stream_head("text/plain");
  // The first look at the job is when the user loses patience.
  TinyWeb server([this](const TinyRequest& request) {
    if (request.route() == "GET /v1/jobs/42") {
      ::kill(::getpid(), SIGTERM);
      return web_answer(200, R"({"id": "42", "state": "RUNNING"})");
    }
    const auto found = answers_.find(request.route());
    return found == answers_.end() ? web_answer(404, "{}") : found->second;
  });

  const Told run = told({"run", "--steps", "1", "--server", server.url(), "--", "true"});

  EXPECT_EQ(run.code, kExitNotFinished);
  EXPECT_NE(run.error.find("rubato logs -f 42"), std::string::npos) << run.error;
}

TEST_F(Verbs, TheSecondInterruptCancels) {
  std::atomic<bool> is_cancelled = false;
  TinyWeb server([&](const TinyRequest& request) {
    if (request.route() == "POST /v1/jobs") {
      return web_answer(201, kAdmitted);
    }
    if (request.route() == "POST /v1/jobs/42/cancel") {
      is_cancelled = true;
    } else if (request.route() != "GET /v1/jobs/42") {
      return web_answer(404, "{}");
    } else if (!is_cancelled) {
      ::kill(::getpid(), SIGINT);
      return web_answer(200, R"({"id": "42", "state": "RUNNING"})");
    }
    return web_answer(200, R"({"id": "42", "state": "CANCELLED"})");
  });

  const Told run = told({"run", "--steps", "1", "--server", server.url(), "--", "true"});

  EXPECT_EQ(run.code, kExitCancelled);
  EXPECT_TRUE(is_cancelled);
}

TEST_F(Verbs, SubmitReadsAFileAndFlagsWin) {
  answer("POST /v1/jobs", kAdmitted);
  const fs::path folder =
      fs::temp_directory_path() / ("rubato-submit-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string file = folder / "job.yaml";
  std::ofstream(file) << "command: train\nsteps: 5\ndeadline: 6h\nworking_directory: data\n";

  const Told submit =
      ask({"submit", file, "--quiet", "--steps", "7", "--class", "best_effort"}, {"other", "-x"});

  EXPECT_EQ(submit.code, 0) << submit.error;
  EXPECT_EQ(submit.out, "42\n");
  EXPECT_EQ(submit.error, "");
  EXPECT_EQ(server_.requests().size(), 1U);  // A script needs no quote.
  const wire::JobSpec spec = sent_job();
  EXPECT_EQ(spec.steps(), 7);
  EXPECT_EQ(spec.command(0), "other");
  EXPECT_EQ(spec.deadline(), "");
  EXPECT_EQ(spec.working_directory(), (folder / "data").string());

  std::ofstream(file) << "command: train\nstep: 5\n";
  const Told wrong = ask({"submit", file});
  EXPECT_EQ(wrong.code, kExitBadInput);
  EXPECT_EQ(wrong.error,
            "rubato submit: " + file + ":2: unknown field 'step'; did you mean 'steps'?\n");
  EXPECT_EQ(ask({"submit", (folder / "none.yaml").string()}).code, kExitBadInput);
  EXPECT_EQ(ask({"submit"}).code, kExitUsage);
  fs::remove_all(folder);
}

TEST(JobFlags, AJobIsNamedAfterItsProgram) {
  const auto name_of = [](const std::string& first, const std::vector<std::string>& others) {
    JobFlags flags{.texts = {{"steps", "1"}}, .first_word = first, .other_words = others};
    return described_job(flags, {.directory = "/"})->name();
  };

  EXPECT_EQ(name_of("python3", {"-u", "dir/train.py", "--lr", "1"}), "train");
  EXPECT_EQ(name_of("./train", {}), "train");
  EXPECT_EQ(name_of("sh", {"-c", "echo hello"}), "sh");
  EXPECT_EQ(name_of("/usr/bin/env", {"python3"}), "python3");
}

TEST_F(Verbs, BadFlagsAreBadInput) {
  const Told run = ask({"run", "--deadline", "soon", "--steps", "1"}, {"true"});
  EXPECT_EQ(run.code, kExitBadInput);
  EXPECT_NE(run.error.find("rubato run: --deadline: found 'soon'"), std::string::npos);
  EXPECT_NE(ask({"run"}, {"true"}).error.find("steps: is required: how much work is it? (--steps)"),
            std::string::npos);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(Verbs, QuoteShowsAndReturnsRefusals) {
  answer("POST /v1/quotes", R"({"admitted": true, "gpu_hours": 3, "promises_made": 0})");

  const Told quote = ask({"quote", "--steps", "10", "--kind", "emulated", "--speeds", "1:10"});

  EXPECT_EQ(quote.code, 0) << quote.error;
  EXPECT_NE(quote.out.find("our record none yet"), std::string::npos);
  EXPECT_EQ(sent_job().speeds(0).steps_per_second(), 10);
  EXPECT_EQ(sent_job().working_directory(), "");
}

TEST_F(Verbs, ListsAllPages) {
  TinyWeb server([](const TinyRequest& request) {
    const bool is_first = request.line.find("page_token= ") != std::string::npos;
    return web_answer(200, is_first ? R"({"jobs": [{"id": "1"}], "next_page_token": "a b"})"
                                    : R"({"jobs": [{"id": "2"}]})");
  });

  const Told list = told({"list", "--quiet", "--state", "running", "--server", server.url()});

  EXPECT_EQ(list.out, "1\n2\n");
  EXPECT_NE(server.requests().at(0).line.find("state=RUNNING"), std::string::npos);
  EXPECT_NE(server.requests().at(1).line.find("page_token=a%20b"), std::string::npos);
}

TEST_F(Verbs, JsonIsTheServersOwn) {
  answer("GET /v1/jobs/42", R"({"id": "42", "unheard_of": [1]})");

  EXPECT_EQ(ask({"status", "42", "--json"}).out, "{\"id\": \"42\", \"unheard_of\": [1]}\n");
}

TEST_F(Verbs, LogsAreReadPartByPart) {
  TinyWeb server([](const TinyRequest& request) {
    const bool is_first = request.line.find("from=0") != std::string::npos;
    return web_answer(200, is_first ? "one\n" : "", "text/plain");
  });

  EXPECT_EQ(told({"logs", "42", "--server", server.url()}).out, "one\n");
  EXPECT_NE(server.requests().at(1).line.find("from=4"), std::string::npos);
}

TEST_F(Verbs, ChangesAreSentAsTheInterfaceWantsThem) {
  answer("POST /v1/jobs/42/cancel", R"({"id": "42", "state": "CANCELLED"})");
  answer("POST /v1/jobs/42/scale", R"({"job": {"id": "42"}})");
  answer("GET /v1/tenants", R"({"tenants": [{"name": "vision", "borrow": 3}]})");
  answer("PUT /v1/tenants/vision", R"({"name": "vision"})");
  answer("PATCH /v1/nodes/gpu01", R"({"name": "gpu01"})");
  answer("PUT /v1/policy/shadow", R"({"live": "a", "shadow": "edf"})");
  answer("POST /v1/what-if", "{}");
  answer("GET /v1/report", "{}");

  EXPECT_EQ(ask({"cancel", "42"}).out, "job 42 CANCELLED\n");
  EXPECT_EQ(ask({"scale", "42", "--workers", "2-4"}).code, 0);
  EXPECT_EQ(ask({"queue", "set", "vision", "--guarantee", "16"}).code, 0);
  EXPECT_EQ(ask({"queue", "set", "vision", "--borrow", "0"}).code, 0);
  EXPECT_EQ(ask({"queue", "set", "vision", "--borrow", "any", "--guarantee", "1"}).code, 0);
  EXPECT_NE(ask({"queue", "set", "vision", "--borrow", "-1"}).code, 0);
  EXPECT_NE(ask({"queue", "set", "vision", "--borrow", "some"}).code, 0);
  EXPECT_EQ(ask({"node", "maintenance", "gpu01", "--at", "Sat 02:00", "--for", "4h"}).code, 0);
  EXPECT_EQ(ask({"policy", "shadow", "edf"}).code, 0);
  EXPECT_EQ(ask({"what-if", "--add-gpus", "8", "--remove-node", "a", "--remove-node", "b"}).code,
            0);
  EXPECT_EQ(ask({"report", "--since", "7d"}).code, 0);

  std::string all;
  for (const TinyRequest& request : server_.requests()) {
    all += request.line + "\n" + request.body + "\n";
  }
  for (const char* part :
       {R"({"workers":{"min":2,"max":4}})", R"({"name":"vision","guarantee":16,"borrow":3})",
        R"({"name":"vision","borrow":0})", R"({"name":"vision","guarantee":1})",
        R"({"maintenance":{"from":"20)", R"({"policy":"edf"})",
        R"({"add_gpus":8,"remove_nodes":["a","b"]})", "GET /v1/report?since=604800 "}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << " is not in\n" << all;
  }
}

TEST_F(Verbs, AScaleCanBeAskedAboutWithoutDoingIt) {
  answer("POST /v1/what-if", R"({"jobs": [{"job": "42", "name": "resnet"}]})");

  const Told asked = ask({"what-if", "--scale", "42=1-2"});
  const Told dry = ask({"scale", "42", "--workers", "1-2", "--dry-run"});

  EXPECT_EQ(asked.code, 0) << asked.error;
  EXPECT_EQ(dry.code, 0) << dry.error;
  EXPECT_EQ(asked.out, dry.out);
  EXPECT_EQ(asked.out.find("job 42 with workers 1-2\n"), 0U) << asked.out;
  ASSERT_EQ(server_.requests().size(), 2U);
  for (const TinyRequest& request : server_.requests()) {
    EXPECT_EQ(request.line.find("POST /v1/what-if "), 0U) << request.line;
    EXPECT_EQ(request.body, R"({"scale":{"job":"42","workers":{"min":1,"max":2}}})");
  }
  const Told wrong = ask({"what-if", "--scale", "42=1..2"});
  EXPECT_EQ(wrong.code, kExitBadInput);
  EXPECT_NE(wrong.error.find("--scale: found '1..2'"), std::string::npos) << wrong.error;
  EXPECT_NE(wrong.error.find("did you mean '42=1-2'?"), std::string::npos) << wrong.error;
}

TEST_F(Verbs, FailuresHaveExitCodes) {
  for (const auto& [status, code] :
       {std::pair{400, kExitBadInput}, std::pair{401, kExitNotPermitted},
        std::pair{403, kExitNotPermitted}, std::pair{404, kExitNotFound},
        std::pair{409, kExitBadInput}, std::pair{422, kExitRefused}, std::pair{503, kExitNoServer},
        std::pair{500, kExitBug}}) {
    TinyWeb server([status = status](const TinyRequest&) {
      return web_answer(status, R"({"detail": "no", "field": "steps", "suggestion": "1"})");
    });
    const Told why = told({"why", "42", "--server", server.url()});
    EXPECT_EQ(why.code, code) << status;
    EXPECT_EQ(why.error, "rubato why: steps: no; did you mean '1'?\n");
  }
  EXPECT_EQ(told({"why", "42", "--server", "nonsense://"}).code, kExitBadInput);
  EXPECT_EQ(told({"why"}).code, kExitUsage);
}

TEST_F(Verbs, WithoutAServerThereIsAHint) {
  std::string url;
  {
    const TinyWeb gone([](const TinyRequest&) { return std::string{}; });
    url = gone.url();
  }

  const Told list = told({"list", "--server", url});

  EXPECT_EQ(list.code, kExitNoServer);
  EXPECT_NE(list.error.find("rubato up"), std::string::npos) << list.error;
}

TEST(ClientFlags, TheFlagWinsOverTheEnvironment) {
  const std::string file =
      fs::temp_directory_path() / ("rubato-token-" + std::to_string(::getpid()));
  std::ofstream(file) << "from-file\n";
  std::map<std::string, std::string> variables;
  const auto lookup = [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };

  EXPECT_EQ(to_string(web_options({}, lookup)->server), "http://127.0.0.1:8421");
  EXPECT_EQ(web_options({}, lookup)->token, "");
  variables = {{"RUBATO_SERVER", "http://a:1"}, {"RUBATO_TOKEN_FILE", file}};
  EXPECT_EQ(to_string(web_options({}, lookup)->server), "http://a:1");
  EXPECT_EQ(web_options({}, lookup)->token, "from-file");
  variables["RUBATO_TOKEN"] = "from-variable";
  EXPECT_EQ(web_options({}, lookup)->token, "from-variable");
  EXPECT_EQ(web_options({.token_file = file}, lookup)->token, "from-file");
  EXPECT_EQ(to_string(web_options({.server = "http://b:2"}, lookup)->server), "http://b:2");
  EXPECT_FALSE(web_options({.token_file = file + "-none"}, lookup));
  fs::remove(file);
}

}  // namespace
}  // namespace rubato
