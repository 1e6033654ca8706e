// The membership of a job against workers that may die at any moment.
#include <algorithm>
#include <deque>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/launch/membership.h"

namespace rubato {
namespace {

// A number below the limit.
std::size_t below_of(Random& random, std::size_t limit) { return random.next() % limit; }

// The protocol in small: workers as runtime/elastic_worker.h has them, messages that arrive late
// but in order, and deaths at any moment. What they do next is drawn.
class ProtocolWorld {
 public:
  explicit ProtocolWorld(std::uint64_t seed) : random_(seed) {}

  void set_target(int workers) { carry_out(membership_.set_target(workers)); }

  // Likewise, and some of those that are there must go.
  void move(int workers) {
    std::set<WorkerId> leaving;
    for (const auto& [id, actor] : workers_) {
      if (below(2) == 0) {
        leaving.insert(id);
      }
    }
    moved_ = leaving;
    carry_out(membership_.set_target(workers, std::move(leaving)));
  }

  // One thing happens somewhere; `with_faults` allows deaths.
  void happen(bool with_faults) {
    if (workers_.empty()) {
      return;
    }
    const auto chosen =
        std::next(workers_.begin(), static_cast<std::ptrdiff_t>(below(workers_.size())));
    const WorkerId id = chosen->first;
    switch (below(with_faults ? 60 : 50)) {
      case 50:
        die(id);
        break;
      default:
        if (below(2) == 0) {
          tell_conductor(id);
        } else {
          act(id);
        }
    }
  }

  // Nobody trains, and the last committed step of all that live is in the snapshot.
  [[nodiscard]] bool is_suspended() const {
    return membership_.is_idle() && std::ranges::all_of(workers_, [&](const auto& entry) {
             return entry.second.trains_in == 0 &&
                    (!entry.second.has_state || entry.second.step <= snapshot_);
           });
  }

  [[nodiscard]] bool is_calm() const {
    if (membership_.target() == 0) {
      return is_suspended();
    }
    const auto& members = membership_.members();
    return membership_.is_settled() && static_cast<int>(members.size()) == membership_.target() &&
           std::ranges::all_of(members, [&](WorkerId id) {
             const auto found = workers_.find(id);
             return found != workers_.end() && found->second.is_alive && !moved_.contains(id) &&
                    found->second.trains_in == membership_.generation();
           });
  }

  [[nodiscard]] std::string fault() const { return fault_; }
  [[nodiscard]] int commits() const { return commits_; }

 private:
  struct Actor {
    bool is_alive = true;
    bool is_warm = false;
    bool has_state = false;
    bool leads = false;
    int step = 0;
    std::uint64_t trains_in = 0;  // 0: in no group.
    std::uint64_t seen = 0;       // Newest generation it has heard of.
    std::uint64_t tried = 0;      // Newest it has entered, given up or is no member of.
    std::uint64_t entering = 0;   // Waits there for the others.
    std::deque<PublishGeneration> inbox{};
    std::deque<std::string> outbox{};  // Words for the conductor, with a number.
    std::uint64_t forced = 0;          // Newest forced generation it has heard of.
    std::uint64_t broken = 0;  // The group that broke under it; only a forced one can follow.
  };

  std::size_t below(std::size_t limit) { return below_of(random_, limit); }

  void carry_out(const MembershipCommands& commands) {
    for (const MembershipCommand& command : commands) {
      if (const auto* started = std::get_if<StartWorker>(&command)) {
        workers_[started->worker] = Actor{};
      } else if (const auto* stopped = std::get_if<StopWorker>(&command)) {
        workers_.erase(stopped->worker);
        carry_out(membership_.on_lost(stopped->worker));
      } else {
        const auto& generation = std::get<PublishGeneration>(command);
        generations_[generation.number] = generation;
        for (auto& [id, actor] : workers_) {
          if (actor.is_warm) {
            actor.inbox.push_back(generation);
          }
        }
      }
    }
  }

  void die(WorkerId id) {
    Actor& actor = workers_.at(id);
    actor.is_alive = false;
    actor.outbox.push_back("lost 0");
  }

  void say(Actor& actor, const std::string& word, std::uint64_t number) {
    actor.outbox.push_back(word + " " + std::to_string(number));
  }

  void tell_conductor(WorkerId id) {
    Actor& actor = workers_.at(id);
    if (actor.outbox.empty()) {
      return;
    }
    const std::string words = actor.outbox.front();
    actor.outbox.pop_front();
    const std::string word = words.substr(0, words.find(' '));
    const std::uint64_t number = std::stoull(words.substr(words.find(' ')));
    if (word == "lost") {
      workers_.erase(id);
      carry_out(membership_.on_lost(id));
    } else if (word == "warm") {
      carry_out(membership_.on_warm(id));
    } else if (word == "entered") {
      carry_out(membership_.on_entered(id, number));
    } else if (word == "parked") {
      carry_out(membership_.on_parked(id, number));
    } else {
      carry_out(membership_.on_broken(id, number, word == "broken-entering"));
    }
  }

  void act(WorkerId id) {
    Actor& actor = workers_.at(id);
    if (!actor.is_alive) {
      return;
    }
    if (!actor.is_warm) {
      actor.is_warm = true;
      say(actor, "warm", 0);
    } else if (!actor.inbox.empty() && below(2) == 0) {
      hear(actor);
    } else if (actor.trains_in != 0) {
      train(actor.trains_in);
    } else if (actor.entering != 0) {
      enter(actor.entering);
    } else if (actor.seen > actor.tried && (actor.broken == 0 || actor.forced > actor.broken)) {
      take_seat(id, actor);
    }
  }

  // As GroupInbox::publish: a forced generation breaks off training, any newer one breaks off
  // entering.
  void hear(Actor& actor) {
    const PublishGeneration generation = actor.inbox.front();
    actor.inbox.pop_front();
    actor.seen = generation.number;
    if (generation.is_forced) {
      actor.forced = generation.number;
      give_up(actor);
    }
    if (actor.entering != 0) {
      broken_.insert(actor.entering);
      actor.entering = 0;
    }
  }

  static void give_up(Actor& actor) {
    actor.broken = std::max(actor.broken, actor.trains_in);
    actor.trains_in = 0;
  }

  void take_seat(WorkerId id, Actor& actor) {
    actor.tried = actor.seen;
    const PublishGeneration& generation = generations_.at(actor.seen);
    if (std::ranges::count(generation.members, id) == 0) {
      if (generation.members.empty() && actor.has_state && actor.leads) {
        snapshot_ = std::max(snapshot_, actor.step);
      }
      say(actor, "parked", actor.seen);
    } else {
      actor.entering = actor.seen;
    }
  }

  std::vector<Actor*> actors(std::uint64_t number) {
    std::vector<Actor*> found;
    for (const WorkerId id : generations_.at(number).members) {
      const auto worker = workers_.find(id);
      found.push_back(worker == workers_.end() || !worker->second.is_alive ? nullptr
                                                                           : &worker->second);
    }
    return found;
  }

  void enter(std::uint64_t number) {
    const auto members = actors(number);
    if (broken_.contains(number)) {
      for (Actor* actor : members) {
        if (actor != nullptr && actor->entering == number) {
          actor->entering = 0;
          if (actor->seen == number) {
            say(*actor, "broken-entering", number);
          }
        }
      }
      return;
    }
    for (const Actor* actor : members) {
      if (actor == nullptr || actor->entering != number) {
        return;
      }
    }
    int highest = -1;
    for (const Actor* actor : members) {
      highest = std::max(highest, actor->has_state ? actor->step : -1);
    }
    if (!generations_.at(number).has_state) {
      highest = std::max(highest, snapshot_);
    }
    for (const auto& [id, actor] : workers_) {
      if (actor.is_alive && actor.has_state && actor.step > highest) {
        fault_ = "generation " + std::to_string(number) + " begins at step " +
                 std::to_string(highest) + ", but worker " + std::to_string(id.value) +
                 " lives and has committed step " + std::to_string(actor.step);
      }
    }
    for (Actor* actor : members) {
      actor->step = highest;
      actor->has_state = true;
      actor->leads = actor == members.front();
      actor->trains_in = number;
      actor->entering = 0;
      say(*actor, "entered", number);
    }
  }

  // One step of a group; if a member is dead the reduction fails for all, or for some only.
  void train(std::uint64_t number) {
    const auto members = actors(number);
    bool is_whole = true;
    for (const Actor* actor : members) {
      is_whole = is_whole && actor != nullptr && actor->trains_in == number;
    }
    if (!is_whole) {
      for (Actor* actor : members) {
        if (actor != nullptr && actor->trains_in == number) {
          give_up(*actor);
          if (actor->forced <= number) {
            say(*actor, "broken", number);
          }
        }
      }
      return;
    }
    const bool is_cut = below(40) == 0;  // Someone dies while others are through already.
    const std::size_t victim = below(members.size());
    std::uint64_t vote = members.front()->seen;
    for (std::size_t i = 0; i < members.size(); ++i) {
      Actor& actor = *members[i];
      vote = actor.seen == vote ? vote : 0;
      if (is_cut && (i == victim || below(2) == 0)) {
        continue;
      }
      actor.step += 1;
      ++commits_;
    }
    if (is_cut) {
      members[victim]->is_alive = false;
      members[victim]->outbox.push_back("lost 0");
      return;
    }
    if (below(50) == 0) {
      snapshot_ = members.front()->step;
    }
    if (vote > number) {
      for (Actor* actor : members) {
        actor->trains_in = 0;
      }
    }
  }

  Random random_;
  Membership membership_;
  std::map<WorkerId, Actor> workers_;
  std::map<std::uint64_t, PublishGeneration> generations_;
  std::set<std::uint64_t> broken_;
  std::set<WorkerId> moved_;
  int snapshot_ = 0;
  int commits_ = 0;
  std::string fault_;
};

TEST(Membership, SettlesAtTheTargetAndLosesNoStepWhateverDies) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    ProtocolWorld world(seed);
    Random targets(seed + 1'000'000);
    world.set_target(1 + static_cast<int>(below_of(targets, 5)));
    for (int i = 0; i < 600; ++i) {
      if (below_of(targets, 60) == 0) {
        const auto workers = static_cast<int>(below_of(targets, 6));
        if (below_of(targets, 3) == 0) {
          world.move(workers);
        } else {
          world.set_target(workers);
        }
      }
      world.happen(true);
      ASSERT_EQ(world.fault(), "") << "seed " << seed;
    }
    int patience = 20000;
    while (!world.is_calm() && patience > 0) {
      world.happen(false);
      --patience;
    }
    ASSERT_EQ(world.fault(), "") << "seed " << seed;
    ASSERT_TRUE(world.is_calm()) << "seed " << seed;
    if (world.is_suspended()) {
      world.set_target(2);
    }
    const int before = world.commits();
    for (int i = 0; i < 500; ++i) {
      world.happen(false);
    }
    ASSERT_GT(world.commits(), before) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato
