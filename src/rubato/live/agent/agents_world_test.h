// Several pretended agents in pretended time, that join, fall silent, die and come back, with a
// directory of snapshots that all of them see.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "rubato/base/random.h"
#include "rubato/live/agent/pretended_agent_test.h"
#include "rubato/live/controller/controller.h"
#include "rubato/live/controller/controller_world_test.h"

namespace rubato {

class AgentsWorld {
 public:
  /// The first agent, `a`, is there from the beginning.
  AgentsWorld(int slots, std::uint64_t seed) : random_(seed) {
    options_.nodes = {{.name = "a", .agent = "a", .slots = slots}};
    controller_.emplace(Controller::make(options_).value());
    add("a", slots);
  }

  void add(const std::string& name, int slots) {
    agents_[name].slots = slots;
    hello(name);
  }

  JobId submit(double steps, double deadline_seconds) {
    const JobId id{next_job_++};
    wire::JournalInput input;
    wire::Submitted& submitted = *input.mutable_submitted();
    submitted.set_job(id.value);
    submitted.mutable_spec()->set_steps(steps);
    for (const wire::SpeedPoint& point : true_speeds()) {
      *submitted.add_known() = point;
    }
    if (deadline_seconds > 0) {
      submitted.set_deadline_us((now_ + from_seconds(deadline_seconds)).time_since_epoch().count());
    }
    play(input);
    return id;
  }

  /// Nobody hears of the agent, nor it of anybody.
  void cut(const std::string& name) {
    agents_.at(name).is_cut = true;
    agents_.at(name).cut_at = now_;
  }
  /// It loses all that ran; what was kept is kept, and that a job is over too.
  void kill_jobs(const std::string& name) {
    std::erase_if(agents_.at(name).jobs, [](const auto& each) { return !each.second.is_over; });
  }
  void mend(const std::string& name) {
    PretendedAgent& agent = agents_.at(name);
    agent.is_cut = false;
    agent.is_lost = false;
    agent.mail.clear();
    hello(name);
    for (const auto& [id, outcome] : agent.ends) {
      say(name, ended_of(id, agent.jobs[id], outcome));
    }
  }

  void run(double seconds) {
    const Instant end = now_ + from_seconds(seconds);
    while (now_ < end) {
      now_ += std::chrono::milliseconds(100);
      for (auto& [name, agent] : agents_) {
        work(name, agent);
      }
      if (controller_->wake() <= now_) {
        wire::JournalInput input;
        input.mutable_woken();
        play(input);
      }
    }
  }

  void play(const wire::JournalInput& input) {
    history_.push_back({.at = now_, .input = input, .effects = controller_->on(now_, input)});
    for (const AgentOrder& order : history_.back().effects.orders) {
      const auto found = agents_.find(order.agent);
      if (found != agents_.end() && !found->second.is_cut) {
        found->second.mail.emplace_back(now_ + from_seconds(random_.uniform(0.01, 0.3)),
                                        order.message);
      }
    }
  }

  [[nodiscard]] Controller& controller() { return *controller_; }
  [[nodiscard]] const ControllerOptions& options() const { return options_; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] const std::vector<PlayedInput>& history() const { return history_; }
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  [[nodiscard]] const PretendedAgent& agent(const std::string& name) const {
    return agents_.at(name);
  }
  /// Agents on which the job has slots.
  [[nodiscard]] std::vector<std::string> whereabouts(JobId id) const {
    std::vector<std::string> found;
    for (const auto& [name, agent] : agents_) {
      const auto job = agent.jobs.find(id);
      if (job != agent.jobs.end() && !job->second.slots.empty()) {
        found.push_back(name);
      }
    }
    return found;
  }

 private:
  static constexpr Duration kPatience = std::chrono::seconds(5);

  void hello(const std::string& name) { play(hello_of(name, agents_.at(name))); }

  void say(const std::string& name, wire::JournalInput input) {
    if (!agents_.at(name).is_cut) {
      input.set_agent(name);
      play(input);
    }
  }

  void work(const std::string& name, PretendedAgent& agent) {
    if (agent.is_cut && !agent.is_lost && now_ - agent.cut_at >= kPatience) {
      agent.is_lost = true;
      wire::JournalInput lost;
      lost.mutable_node()->set_node(name);
      play(lost);
    }
    for (std::size_t i = 0; i < agent.mail.size(); ++i) {
      if (agent.mail[i].first <= now_ && !agent.is_cut) {
        const wire::ToAgent message = agent.mail[i].second;
        agent.mail.erase(agent.mail.begin() + static_cast<std::ptrdiff_t>(i));
        obey(name, agent, message);
        i = static_cast<std::size_t>(-1);
      }
    }
    train(name, agent);
  }

  void obey(const std::string& name, PretendedAgent& agent, const wire::ToAgent& message) {
    if (message.has_forget()) {
      agent.ends.erase(JobId{std::stoull(message.forget().job())});
    }
    if (message.has_stop()) {
      PretendedJob& job = agent.jobs[JobId{std::stoull(message.stop().job())}];
      if (message.stop().order() > job.order && !job.is_over) {
        job.order = message.stop().order();
        job.slots.clear();
        job.is_over = true;
        end(name, JobId{std::stoull(message.stop().job())}, "cancelled");
      }
    }
    if (!message.has_run()) {
      return;
    }
    const JobId id{std::stoull(message.run().job())};
    PretendedJob& job = agent.jobs[id];
    if (message.run().order() <= job.order) {
      return;
    }
    if (job.is_over) {
      end(name, id, "finished");
      return;
    }
    const bool was_running = !job.slots.empty();
    job.order = message.run().order();
    job.steps = message.run().spec().steps();
    job.slots.clear();
    for (const wire::SlotName& slot : message.run().slots()) {
      job.slots.emplace(slot.node(), slot.index());
    }
    check_slots(name, agent);
    if (job.slots.empty()) {
      kept_[id] = std::max(kept_[id], job.done);
      say(name, ended_of(id, job, "suspended"));
      return;
    }
    job.done = was_running ? job.done : kept_[id];
    job.busy_until = now_ + from_seconds(was_running ? 0.1 : 0.4);
    say(name, held_of(id, job));
  }

  void end(const std::string& name, JobId id, const std::string& outcome) {
    agents_.at(name).ends[id] = outcome;
    say(name, ended_of(id, agents_.at(name).jobs.at(id), outcome));
  }

  void check_slots(const std::string& name, const PretendedAgent& agent) {
    std::set<std::pair<std::string, int>> used;
    for (const auto& [id, job] : agent.jobs) {
      for (const auto& slot : job.slots) {
        if (slot.first != name || slot.second < 0 || slot.second >= agent.slots) {
          faults_.push_back(fmt::format("agent {} has no slot {}", name, slot.first));
        }
        if (!used.insert(slot).second) {
          faults_.push_back(fmt::format("slot {}/{} is used twice", slot.first, slot.second));
        }
      }
    }
  }

  void train(const std::string& name, PretendedAgent& agent) {
    std::vector<JobId> finished;
    for (auto& [id, job] : agent.jobs) {
      if (job.slots.empty() || now_ < job.busy_until) {
        continue;
      }
      const auto workers = static_cast<int>(job.slots.size());
      job.done = std::min(job.steps, job.done + true_speed(workers) / 10);
      if (job.done >= kept_[id] + 50) {
        kept_[id] = job.done;
      }
      if (job.done >= job.steps) {
        finished.push_back(id);
      } else if (now_ - job.reported >= std::chrono::seconds(1)) {
        job.reported = now_;
        say(name, report_of(id, job));
      }
    }
    for (const JobId id : finished) {
      agent.jobs.at(id).slots.clear();
      agent.jobs.at(id).is_over = true;
      end(name, id, "finished");
    }
  }

  ControllerOptions options_{};
  std::optional<Controller> controller_;
  Random random_;
  Instant now_{std::chrono::hours(24 * 365 * 50)};
  std::uint64_t next_job_ = 1;
  std::map<std::string, PretendedAgent> agents_;
  std::map<JobId, double> kept_;
  std::vector<PlayedInput> history_;
  std::vector<std::string> faults_;
};

}  // namespace rubato
