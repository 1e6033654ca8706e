// The loop, the journal and the agents.
#include "rubato/live/service/service.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/core.h>

#include "rubato/live/controller/agent_report_limits.h"
#include "rubato/live/journal/repair_text.h"
#include "rubato/wire/log_line.h"

namespace rubato {
namespace {

constexpr Duration kHousekeeping = std::chrono::milliseconds(500);
constexpr std::uint64_t kInputsMin =
    1'000;  // Between checkpoints while there is nothing else to do,
constexpr std::uint64_t kInputsMax = 4'000;  // and otherwise: what a restart has to replay.
constexpr double kSpeedNews = 0.05;          // A change of speed by this part is worth journalling.

std::string checkpoint_path(const ServiceOptions& options) {
  return (std::filesystem::path(options.state_directory) / "controller.state").string();
}

}  // namespace

Service::Service(ServiceOptions options, JournalStore store, Controller controller)
    : options_(std::move(options)),
      store_(std::move(store)),
      controller_(std::move(controller)),
      clock_(store_.last_instant(), options_.time),
      queue_(options_.queue),
      checkpoints_(checkpoint_path(options_)),
      past_(store_.history()),
      metrics_({.state_directory = options_.state_directory,
                .shared_directory = options_.shared_directory}) {}

Result<std::unique_ptr<Service>> Service::open(ServiceOptions options) {
  const std::string path = (std::filesystem::path(options.state_directory) / "journal.sqlite");
  auto store = JournalStore::open(path, options.controller);
  if (!store) {
    return store.error();
  }
  auto controller = Controller::make(store->options());
  std::uint64_t after = 0;
  auto checkpoint = store->history().newest_checkpoint();
  if (!checkpoint) {
    return checkpoint.error();
  }
  auto beside = read_checkpoint_file(checkpoint_path(options));
  if (beside && beside->sequence <= store->last_sequence() &&
      (!*checkpoint || (*checkpoint)->sequence < beside->sequence)) {
    *checkpoint = std::move(beside);
  }
  if (*checkpoint) {
    // One that cannot be read costs time, not history: the journal has everything.
    if (auto loaded = Controller::load(store->options(), (*checkpoint)->bytes)) {
      controller = std::move(loaded);
      after = (*checkpoint)->sequence;
    }
  }
  if (!controller) {
    return controller.error();
  }
  std::unique_ptr<Service> service(
      new Service(std::move(options), *std::move(store), *std::move(controller)));
  if (const Status replayed = service->replay(after); !replayed) {
    return replayed.error();
  }
  service->thread_ = std::thread([raw = service.get()] { raw->loop(); });
  return service;
}

Service::~Service() {
  stop_waiting();
  queue_.close();
  if (thread_.joinable()) {
    thread_.join();
  }
}

// The controller as the journal left it.
Status Service::replay(std::uint64_t after) {
  const auto began = std::chrono::steady_clock::now();
  Status read = store_.history().for_each_input(after, [&](const JournalRecord& record) {
    const Effects effects = controller_.on(record.at, record.input);
    ++recovery_.inputs;
    if (effects.commands != record.commands) {
      ++recovery_.differences;
    }
    return ok_status();
  });
  set_clock();
  // Agents that do not come back after our own return are missed as any other.
  for (const NodeRecord& node : controller_.node_records()) {
    agents_[node.node.agent].heard = clock_.now();
  }
  for (const auto& [id, job] : controller_.jobs()) {
    next_job_ = std::max(next_job_, id.value + 1);
  }
  recovery_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return read;
}

// While somebody waits for a deadline, time goes on for us as it did before we were restarted: what
// was done to the system's clock meanwhile does not bring the deadline nearer.
void Service::set_clock() {
  const std::string path = (std::filesystem::path(options_.state_directory) / "clock").string();
  const bool has_deadlines = std::ranges::any_of(controller_.jobs(), [](const auto& each) {
    return each.second.deadline != kNever && !is_over(each.second.state);
  });
  clock_ = ServiceClock(store_.last_instant(), options_.time,
                        has_deadlines ? read_anchor(path) : std::nullopt);
  if (const Status kept = write_anchor(path, clock_.anchor()); !kept) {
    log_line(stderr, "rubato: {}", kept.error().message);
  }
}

void Service::watch_clock() {
  const Duration ahead = clock_.system_ahead();
  const Duration change = std::chrono::abs(ahead - clock_ahead_);
  if (change >= std::chrono::seconds(1)) {
    clock_ahead_ = ahead;
    log_line(stderr,
             "rubato: the system's clock was set; it is {:.0f} s ahead of ours, which "
             "goes on as before",
             to_seconds(ahead));
  }
}

void Service::loop() {
  while (true) {
    const Instant next = std::min(controller_.wake(), clock_.now() + kHousekeeping);
    std::vector<Task> batch = queue_.take_batch(clock_.steady_at(next));
    if (batch.empty() && queue_.is_closed()) {
      if (!has_given_up_) {
        (void)store_.add_checkpoint(controller_.save());
      }
      return;
    }
    now_ = std::max(clock_.now(), controller_.now());
    for (const Task& task : batch) {
      task();
    }
    find_silent_agents();
    watch_clock();
    if (controller_.wake() <= now_) {
      wire::JournalInput woken;
      woken.mutable_woken();
      apply(woken);
    }
    commit();
    keep_checkpoint(batch.empty());
  }
}

// Now and then, preferably when nobody waits: a restart then replays little.
void Service::keep_checkpoint(bool is_idle) {
  if (checkpoints_.is_busy() || !is_ready_ ||
      inputs_ - inputs_at_checkpoint_ < (is_idle ? kInputsMin : kInputsMax)) {
    return;
  }
  inputs_at_checkpoint_ = inputs_;
  const Status kept =
      checkpoints_.begin(store_.last_sequence(), [this] { return controller_.save(); });
  if (!kept) {
    log_line(stderr, "rubato: no checkpoint: {}", kept.error().message);
  }
}

void Service::apply(const wire::JournalInput& given, std::optional<SubmissionKey> key) {
  // Text that is no UTF-8 could be written but never read again: all must see it as it is kept.
  wire::JournalInput input = given;
  repair_text(input);
  const auto began = std::chrono::steady_clock::now();
  Effects effects = controller_.on(now_, input);
  plan_seconds_.observe(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  ++inputs_;
  entries_.push_back({.record = {.at = now_, .input = input, .commands = effects.commands},
                      .events = std::move(effects.events),
                      .key = std::move(key)});
  for (AgentOrder& order : effects.orders) {
    orders_.push_back(std::move(order));
  }
}

void Service::commit() {
  if (!entries_.empty() && !has_given_up_) {
    const Status durable = append_until_durable(
        [this](std::span<JournalItem> batch) { return store_.append(batch); }, entries_,
        [this](const Error& error, std::chrono::milliseconds pause) {
          is_ready_ = false;
          log_line(stderr, "rubato: the journal cannot be written, all waits: {}", error.message);
          std::this_thread::sleep_for(pause);
          return !is_stopping_;
        },
        {.longest = std::chrono::seconds(1)});
    if (!is_ready_) {
      for (auto& [name, line] : agents_) {
        line.heard = clock_.now();  // Nobody was silent: we did not listen.
      }
    }
    // After a gap nothing may follow: the controller is ahead of what a replay would make of it.
    has_given_up_ = !durable.ok();
    is_ready_ = durable.ok();
  }
  if (has_given_up_) {
    orders_.clear();  // What is not journalled does not happen.
  }
  act();
}

void Service::act() {
  for (const AgentOrder& order : std::exchange(orders_, {})) {
    send(order);
  }
  const bool has_news = !has_given_up_ && std::ranges::any_of(entries_, [](const auto& entry) {
    return !entry.events.empty();
  });
  entries_.clear();
  for (const auto& answer : std::exchange(answers_, {})) {
    answer(!has_given_up_);
  }
  if (has_news) {
    const std::lock_guard lock(listeners_mutex_);
    for (const auto& [id, listener] : listeners_) {
      listener();
    }
  }
}

void Service::send(const AgentOrder& order) {
  const auto line = agents_.find(order.agent);
  if (line != agents_.end() && line->second.port != nullptr) {
    line->second.port->send(order.message);
  }
}

void Service::attach(const std::string& agent, AgentPort* port) {
  (void)ask<bool>(
      [this, agent, port]() -> Answered<bool> {
        agents_[agent].port = port;
        return true;
      },
      Need::InAnyCase);
}

void Service::hear(const std::string& agent, const wire::FromAgent& message, AgentPort* port) {
  (void)queue_.post(
      [this, agent, message, port] {
        if (port != nullptr) {
          agents_[agent].port = port;
          agents_[agent].is_remote = true;
        }
        take(agent, message);
      },
      CommitQueue<Task>::Kind::Reserved);
}

void Service::detach_remote() {
  (void)ask<bool>(
      [this]() -> Answered<bool> {
        for (auto& [name, line] : agents_) {
          line.port = line.is_remote ? nullptr : line.port;
        }
        return true;
      },
      Need::InAnyCase);
}

void Service::take(const std::string& agent, const wire::FromAgent& message) {
  AgentLine& line = agents_[agent];
  line.heard = now_;
  if (line.is_silent && !message.has_hello()) {
    // Its jobs may have been given to others: it is used again when we know what runs there.
    wire::ToAgent greet;
    greet.mutable_greet();
    send({.agent = agent, .message = greet});
    return;
  }
  line.is_silent = false;
  wire::JournalInput input;
  input.set_agent(agent);
  switch (message.kind_case()) {
    case wire::FromAgent::kHello:
      *input.mutable_hello() = message.hello();
      input.mutable_hello()->set_agent(agent);
      break;
    case wire::FromAgent::kReport:
      if (!tells_news(agent, message.report())) {
        return;
      }
      *input.mutable_report() = message.report();
      break;
    case wire::FromAgent::kHeld:
      *input.mutable_held() = message.held();
      break;
    case wire::FromAgent::kEnded:
      *input.mutable_ended() = message.ended();
      break;
    case wire::FromAgent::kMetrics:
      take_metrics(agent, message.metrics());
      return;
    case wire::FromAgent::kAlive:
    case wire::FromAgent::KIND_NOT_SET:
      return;
  }
  apply(input);
}

// Reports come every second; the journal gets those that change something, and one now and then.
bool Service::tells_news(const std::string& agent, const wire::JobReport& said) {
  const JobId id = job_id_of(said.job());
  if (!controller_.is_with(id, agent)) {
    return false;
  }
  const wire::JobReport report = sanitized(said);
  reports_[id] = report;
  auto& [at, last] = journalled_[id];
  const bool is_news =
      at == Instant{} || now_ - at >= options_.report_interval || last.order() != report.order() ||
      last.workers() != report.workers() || last.generation() != report.generation() ||
      last.is_measured() != report.is_measured() || last.restarts() != report.restarts() ||
      std::abs(report.speed() - last.speed()) > kSpeedNews * last.speed() ||
      (last.done() <= 0 && report.done() > 0);
  if (is_news) {
    at = now_;
    last = report;
  }
  return is_news;
}

void Service::find_silent_agents() {
  for (auto& [name, line] : agents_) {
    if (line.is_silent || now_ - line.heard < options_.agent_patience) {
      continue;
    }
    line.is_silent = true;
    lose_nodes_of(name, "its agent is silent");
  }
}

void Service::lose_nodes_of(const std::string& agent, const std::string& reason) {
  std::vector<std::string> names;
  for (const NodeRecord& node : controller_.node_records()) {
    if (node.node.agent == agent && node.is_attached) {
      names.push_back(node.node.name);
    }
  }
  for (const std::string& name : names) {
    wire::JournalInput change;
    change.mutable_node()->set_node(name);
    change.mutable_node()->set_reason(reason);
    apply(change);
  }
}

std::uint64_t Service::subscribe(std::function<void()> listener) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_[next_listener_] = std::move(listener);
  return next_listener_++;
}

void Service::unsubscribe(std::uint64_t subscription) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.erase(subscription);
}

}  // namespace rubato
