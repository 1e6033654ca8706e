// Jobs on an agent: real processes that are resized, suspended, killed and found again, and end
// with what one undisturbed worker gets.
#include "agent_scene_test.h"
#include "rubato/live/agent/agent_rpc.h"

namespace rubato {
namespace {

using AgentTest = AgentScene;

TEST_F(AgentTest, GrowsAndShrinksAJobInPlace) {
  open_agent();
  const wire::JobSpec spec = spec_of(counting("16000"));

  agent_->send(order(1, 2, spec));
  await_step(20);
  agent_->send(order(2, 4, spec));
  await_report([](const auto& report) { return report.workers() == 4 && report.order() == 2; });
  agent_->send(order(3, 1, spec));
  EXPECT_EQ(await_held(3).slots_size(), 1);
  EXPECT_LE(processes_of_job(job_folder()).size(), 3U) << "one trains, and at most two are parked";
  await_report([](const auto& report) { return report.workers() == 1 && report.order() == 3; });

  expect_undisturbed(await_ended());
  EXPECT_GT(most_measured(), 1) << "speeds at several sizes were seen in passing";
  EXPECT_NE(text_of_file(job_folder() + "/logs/log").find("[1] 0 of 5000 samples were not used"),
            std::string::npos);
  forget();
  wait_until([&] { return !std::filesystem::exists(job_folder() + "/snapshots"); });
  EXPECT_TRUE(std::filesystem::exists(job_folder() + "/logs/log"));
}

TEST_F(AgentTest, MovesAJobToOtherDevices) {
  has_devices_ = true;
  open_agent();
  std::string program = "echo on $CUDA_VISIBLE_DEVICES; exec";
  for (const std::string& word : counting("8000")) {
    program += " " + word;
  }
  const wire::JobSpec spec = spec_of(shell(program));

  agent_->send(order(1, 2, spec));
  await_step(20);
  wire::ToAgent moved = order(2, 2, spec);
  moved.mutable_run()->mutable_slots(0)->set_index(5);
  moved.mutable_run()->mutable_slots(1)->set_index(6);
  agent_->send(moved);
  EXPECT_EQ(await_held(2).slots(0).index(), 5);
  EXPECT_EQ(processes_of_job(job_folder()).size(), 2U) << "nobody is left on the old ones";

  expect_undisturbed(await_ended());
  const std::string log = text_of_file(job_folder() + "/logs/log");
  for (const char* line :
       {"[1] on GPU-0\n", "[2] on GPU-1\n", "[3] on GPU-5\n", "[4] on GPU-6\n"}) {
    EXPECT_NE(log.find(line), std::string::npos) << log;
  }
}

TEST_F(AgentTest, SuspendsAndResumesWithoutLosingAStep) {
  open_agent();
  const wire::JobSpec spec = spec_of(counting("16000"));

  agent_->send(order(1, 2, spec));
  const double reached = await_step(60).done();
  agent_->send(order(2, 0, spec));
  const wire::JobEnded suspended = await_ended();
  EXPECT_EQ(suspended.outcome(), "suspended");
  EXPECT_EQ(suspended.order(), 2U);
  EXPECT_GE(suspended.done(), reached);
  EXPECT_TRUE(processes_of_job(job_folder()).empty());
  forget();
  agent_->send(order(3, 3, spec));
  const wire::JobReport first = await_step(1);
  EXPECT_GE(first.done(), suspended.done());
  agent_->send(order(2, 0, spec));  // Late: it must not end the job.

  expect_undisturbed(await_ended());
}

TEST_F(AgentTest, CallsAJobBackThatIsBeingSuspended) {
  open_agent();
  const wire::JobSpec spec = spec_of(counting("16000"));

  agent_->send(order(1, 2, spec));
  await_step(30);
  agent_->send(order(2, 0, spec));
  agent_->send(order(3, 2, spec));

  const wire::JobEnded ended = await_ended();
  expect_undisturbed(ended);
  EXPECT_EQ(ended.order(), 3U);
}

TEST_F(AgentTest, AKilledConductorIsLostAndItsJobGoesOnFromTheSnapshot) {
  open_agent();
  wire::JobSpec spec = spec_of(counting("16000"));
  spec.set_snapshot_steps(20);

  agent_->send(order(1, 2, spec));
  await_step(50);
  const auto conductors = conductors_of(job_folder());
  ASSERT_EQ(conductors.size(), 1U);
  ::kill(conductors.front(), SIGKILL);
  const wire::JobEnded lost = await_ended();
  EXPECT_EQ(lost.outcome(), "lost");
  EXPECT_GE(lost.done(), 20);
  EXPECT_TRUE(processes_of_job(job_folder()).empty());
  agent_->send(order(2, 3, spec));
  EXPECT_GE(await_step(1).done(), lost.done());

  expect_undisturbed(await_ended());
}

TEST_F(AgentTest, AJobOutlivesItsAgent) {
  const wire::JobSpec spec = spec_of(counting("8000"));
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    open_agent();
    agent_->send(order(1, 2, spec));
    await_step(20);
    [[maybe_unused]] const ssize_t said = ::write(ends[1], "!", 1);
    while (true) {
      ::pause();
    }
  }
  char word = 0;
  ASSERT_EQ(::read(ends[0], &word, 1), 1);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);

  open_agent();

  const wire::AgentHello hello =
      await([](const wire::FromAgent& message) { return message.has_hello(); }).hello();
  ASSERT_EQ(hello.jobs_size(), 1);
  EXPECT_EQ(hello.jobs(0).order(), 1U);
  EXPECT_EQ(hello.jobs(0).slots_size(), 2);
  EXPECT_EQ(await_held(1).slots_size(), 2);
  EXPECT_GE(await_step(1).done(), 20);
  agent_->send(order(1, 0, spec));  // Old: it has seen this number before it was killed.
  agent_->send(order(2, 3, spec));
  await_report([](const auto& report) { return report.workers() == 3; });
  expect_undisturbed(await_ended());
}

TEST_F(AgentTest, AJobOutlivesAnAgentElsewhere) {
  auto server = AgentServer::open(
      {.token = "secret"}, {.on_message = [this](const std::string& /*agent*/,
                                                 const wire::FromAgent& message) { hear(message); },
                            .on_gone = [](const std::string& /*agent*/) {}});
  ASSERT_TRUE(server.ok()) << server.error().message;
  const wire::JobSpec spec = spec_of(counting("40000"));
  const auto is_hello = [](const wire::FromAgent& message) { return message.has_hello(); };
  const auto end = [](pid_t agent, int signal) {
    ::kill(agent, signal);
    int status = 0;
    ::waitpid(agent, &status, 0);
    return status;
  };

  const pid_t first = start_agent((*server)->port());
  EXPECT_EQ(await(is_hello).hello().nodes(0).slots_size(), 4);
  (*server)->port_of("here").send(order(1, 2, spec));
  await_step(20);
  end(first, SIGKILL);
  const pid_t second = start_agent((*server)->port());

  const wire::AgentHello hello = await(is_hello).hello();
  ASSERT_EQ(hello.jobs_size(), 1);
  EXPECT_GE(await_step(1).done(), 20);
  (*server)->port_of("here").send(order(2, 3, spec));
  expect_undisturbed(await_ended());
  EXPECT_EQ(end(second, SIGTERM), 0) << text_of_file(path("agent-errors"));
}

TEST_F(AgentTest, AnEndIsNotLostIfTheAgentIsAway) {
  open_agent();
  agent_->send(order(1, 1, spec_of(counting("500"))));
  await_step(10);
  agent_.reset();
  wait_until([&] { return std::filesystem::exists(job_folder() + "/ended.json"); });

  open_agent();

  expect_undisturbed(await_ended());
}

TEST_F(AgentTest, StopsAJob) {
  open_agent();
  agent_->send(order(1, 2, spec_of(counting("8000"))));
  await_step(10);

  wire::ToAgent stop;
  stop.mutable_stop()->set_job("7");
  stop.mutable_stop()->set_order(2);
  stop.mutable_stop()->set_reason("the user has had enough");
  agent_->send(stop);

  const wire::JobEnded ended = await_ended();
  EXPECT_EQ(ended.outcome(), "cancelled");
  EXPECT_EQ(ended.detail(), "the user has had enough");
  EXPECT_TRUE(processes_of_job(job_folder()).empty());
}

TEST_F(AgentTest, SaysWhyAProgramFailed) {
  open_agent();

  agent_->send(order(1, 1, spec_of(shell("echo 'ValueError: no data' >&2; exit 3"))));

  const wire::JobEnded ended = await_ended();
  EXPECT_EQ(ended.outcome(), "failed");
  EXPECT_EQ(ended.exit_code(), 3);
  EXPECT_EQ(ended.cause(), "user_error");
  EXPECT_NE(ended.detail().find("ValueError: no data"), std::string::npos) << ended.detail();
}

TEST_F(AgentTest, StartsForeignProgramsAgainForEachSize) {
  open_agent();
  wire::JobSpec spec = spec_of(
      shell("echo $RANK of $WORLD_SIZE in $RUBATO_JOB_NAME; echo 5 0.25 > $RUBATO_PROGRESS_FILE\n"
            "test -e $RUBATO_CHECKPOINT_DIR/saved && exit 75\n"
            "trap 'touch $RUBATO_CHECKPOINT_DIR/saved; exit 0' TERM\n"
            "while :; do sleep 0.05; done"));
  spec.set_kind("restart");

  agent_->send(order(1, 2, spec));
  await_report([](const auto& report) { return report.workers() == 2 && report.done() == 5; });
  agent_->send(order(2, 1, spec));

  EXPECT_EQ(await_held(2).slots_size(), 1);
  const wire::JobEnded ended = await_ended();
  EXPECT_EQ(ended.outcome(), "requeue");
  EXPECT_EQ(ended.exit_code(), 75);
  const std::string log = text_of_file(job_folder() + "/logs/log");
  EXPECT_NE(log.find("[rank 1] 1 of 2 in test\n"), std::string::npos) << log;
  EXPECT_NE(log.find("[rank 0] 0 of 1 in test\n"), std::string::npos) << log;
}

TEST_F(AgentTest, MeasuresTheSpeedAtEachNumberOfWorkers) {
  open_agent();
  wire::ToAgent message = order(1, 4, spec_of(counting("4000")));
  message.mutable_run()->set_measure(true);

  agent_->send(message);

  const wire::JobReport measured =
      await_report([](const auto& report) { return report.is_measured(); });
  std::vector<int> counts;
  for (const wire::SpeedPoint& point : measured.measured()) {
    counts.push_back(point.workers());
  }
  EXPECT_EQ(counts, (std::vector<int>{1, 2, 4}));
  expect_undisturbed(await_ended());
}

TEST_F(AgentTest, PretendsAnEmulatedJob) {
  open_agent();
  wire::JobSpec spec = spec_of({});
  spec.set_kind("emulated");
  spec.set_steps(30);
  spec.add_speeds()->set_workers(1);
  spec.mutable_speeds(0)->set_steps_per_second(100);

  agent_->send(order(1, 8, spec));

  const wire::JobEnded ended = await_ended();
  EXPECT_EQ(ended.outcome(), "finished") << ended.detail();
  EXPECT_EQ(ended.done(), 30);
  EXPECT_NE(text_of_file(job_folder() + "/logs/log").find("EMULATED"), std::string::npos);
}

TEST_F(AgentTest, PretendsAJobInThreadsOnPretendedNodes) {
  is_pretended_ = true;
  open_agent();
  wire::JobSpec spec = spec_of({});
  spec.set_kind("emulated");
  spec.set_steps(100'000);
  spec.add_speeds()->set_workers(1);
  spec.mutable_speeds(0)->set_steps_per_second(200);

  agent_->send(order(1, 8, spec));
  await_report([](const auto& report) { return report.workers() == 8 && report.done() > 0; });
  agent_->send(order(2, 2, spec));
  const wire::JobReport shrunk = await_report([](const auto& r) { return r.workers() == 2; });
  await_held(2);
  agent_->send(order(3, 0, spec));

  const wire::JobEnded ended = await_ended();
  EXPECT_EQ(ended.outcome(), "suspended") << ended.detail();
  EXPECT_GE(ended.done(), shrunk.done());
  EXPECT_NE(text_of_file(job_folder() + "/logs/log").find("threads"), std::string::npos);
}

}  // namespace
}  // namespace rubato
