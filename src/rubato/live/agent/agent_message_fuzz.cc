// Whatever agents say, the controller stays sound, and whatever an agent is told, its book does.
//
// Each line of the input is one message in protobuf's text form, after a letter: `a` or `b` says it
// to the controller, `>` is what the controller tells an agent. All other bytes are tried as a
// message of agent `a` in protobuf's own form.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include "rubato/base/check.h"
#include "rubato/launch/metrics/job_metrics.h"
#include "rubato/live/agent/agent_book.h"
#include "rubato/live/controller/controller.h"
#include "rubato/live/journal/repair_text.h"
#include "rubato/live/rest/message_json.h"

namespace {

using rubato::Controller;
using rubato::Instant;
namespace wire = rubato::wire;

class Silence final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int /*line*/, int /*column*/, const std::string& /*message*/) override {}
};

template <typename Message>
bool parse_text(std::string_view text, Message& message) {
  Silence silence;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silence);
  parser.SetRecursionLimit(50);
  return parser.ParseFromString(std::string(text), &message);
}

/// A controller with two agents and three jobs, in the middle of things.
class FuzzedPlatform {
 public:
  FuzzedPlatform() : controller_(Controller::make(options()).value()) {
    for (const char* agent : {"a", "b"}) {
      wire::FromAgent hello;
      wire::AgentNode& node = *hello.mutable_hello()->add_nodes();
      node.set_name(std::string(agent) + "0");
      for (int i = 0; i < 4; ++i) {
        node.add_slots()->set_index(i);
      }
      hear(agent, hello);
    }
    for (int job = 1; job <= 3; ++job) {
      submit(job);
    }
    wake();
  }

  void hear(const std::string& agent, const wire::FromAgent& message) {
    wire::JournalInput input;
    input.set_agent(agent);
    switch (message.kind_case()) {
      case wire::FromAgent::kHello:
        *input.mutable_hello() = message.hello();
        input.mutable_hello()->set_agent(agent);
        break;
      case wire::FromAgent::kReport:
        *input.mutable_report() = message.report();
        break;
      case wire::FromAgent::kHeld:
        *input.mutable_held() = message.held();
        break;
      case wire::FromAgent::kEnded:
        *input.mutable_ended() = message.ended();
        break;
      default:
        return;
    }
    play(input);
    wake();
    check();
  }

  void check() const {
    RUBATO_CHECK(controller_.engine().audit().empty());
    const rubato::UsageSums& usage = controller_.usage();
    for (const double sum : {usage.useful, usage.lost, usage.idle}) {
      RUBATO_CHECK(std::isfinite(sum) && sum >= 0);
    }
    RUBATO_CHECK(usage.useful <= rubato::to_seconds(now_ - kBegin) * slots() + 1);
    for (const auto& [id, job] : controller_.jobs()) {
      RUBATO_CHECK(std::isfinite(job.done) && job.done >= 0);
      RUBATO_CHECK(std::isfinite(job.gpu_seconds) && job.gpu_seconds >= 0);
      RUBATO_CHECK(job.workers >= 0 && job.workers <= slots());
      RUBATO_CHECK(rubato::to_json(controller_.status(now_, job)).ok());
    }
  }

  /// A restart makes the same of it.
  void check_saved() const {
    const std::string bytes = controller_.save();
    const auto again = Controller::load(options(), bytes);
    RUBATO_CHECK(again.ok());
    RUBATO_CHECK(again->save() == bytes);
  }

 private:
  static constexpr Instant kBegin{std::chrono::hours(24 * 365 * 50)};

  static rubato::ControllerOptions options() {
    rubato::ControllerOptions options;
    options.nodes = {{.name = "a0", .agent = "a", .slots = 4}};
    return options;
  }

  [[nodiscard]] int slots() const {
    int slots = 0;
    for (const rubato::NodeRecord& node : controller_.node_records()) {
      slots += node.node.slots;
    }
    return slots;
  }

  void submit(int job) {
    wire::JournalInput input;
    wire::Submitted& submitted = *input.mutable_submitted();
    submitted.set_job(static_cast<std::uint64_t>(job));
    submitted.mutable_spec()->set_steps(10'000);
    submitted.mutable_spec()->set_model("m");
    for (int workers = 1; workers <= 4 && job < 3; workers *= 2) {  // The third is measured.
      wire::SpeedPoint& point = *submitted.add_known();
      point.set_workers(workers);
      point.set_steps_per_second(10 * workers);
    }
    if (job == 1) {
      submitted.set_deadline_us((now_ + std::chrono::hours(1)).time_since_epoch().count());
    }
    play(input);
  }

  void wake() {
    now_ += std::chrono::seconds(1);
    for (int i = 0; i < 3 && controller_.wake() <= now_; ++i) {
      wire::JournalInput woken;
      woken.mutable_woken();
      play(woken);
    }
  }

  void play(wire::JournalInput& input) {
    rubato::repair_text(input);
    (void)controller_.on(now_, input);
  }

  Instant now_ = kBegin;
  Controller controller_;
};

rubato::AgentBook book() {
  wire::AgentNode node;
  node.set_name("a0");
  for (int i = 0; i < 4; ++i) {
    node.add_slots()->set_index(i);
  }
  return rubato::AgentBook({.name = "a", .nodes = {node}, .cpus = 2});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kSizeMax = 1 << 16;
  const std::string text(data, data + std::min(size, kSizeMax));
  FuzzedPlatform platform;
  rubato::AgentBook agent = book();
  rubato::launch::metrics::MetricSeries metrics;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const char speaker = line.empty() ? ' ' : line.front();
    wire::FromAgent said;
    wire::ToAgent told;
    if ((speaker == 'a' || speaker == 'b') && parse_text(line.substr(1), said)) {
      platform.hear(std::string(1, speaker), said);
      if (said.has_report() || said.has_held()) {
        (void)agent.on_word(said.has_report() ? said.report().job() : said.held().job(), said);
      } else if (said.has_ended()) {
        (void)agent.on_ended(said.ended());
      } else if (said.has_metrics()) {
        rubato::launch::metrics::add_points(said.metrics(), metrics,
                                            [](const auto&, const auto&) {});
        RUBATO_CHECK(metrics.names().size() <= rubato::launch::metrics::kNamesMax);
      }
    } else if (speaker == '>' && parse_text(line.substr(1), told)) {
      (void)agent.take(told);
    }
  }
  if (wire::FromAgent said; said.ParseFromString(text)) {
    platform.hear("a", said);
  }
  if (wire::ToAgent told; told.ParseFromString(text)) {
    (void)agent.take(told);
  }
  (void)agent.hello();
  platform.check_saved();
  return 0;
}
