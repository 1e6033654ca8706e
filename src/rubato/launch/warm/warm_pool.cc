#include "rubato/launch/warm/warm_pool.h"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <sys/wait.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/launch/process/group_guard.h"
#include "rubato/launch/process/pidfd.h"

namespace rubato {
namespace {

// A zygote that dies this often will die again.
constexpr int kStartsMax = 3;
// How an orphan ended is seen at once, or not at all if another reaped it first on an old kernel.
constexpr std::chrono::seconds kOrphanPatience{1};
constexpr std::chrono::milliseconds kOrphanLook{20};

bool is_dead(int pidfd) {
  pollfd watched{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) == 1;
}

// The status of a process that has become our child because its parent died, as happens to the
// first process of a container.
std::optional<ExitStatus> inherited_end(int pidfd) {
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  return info.si_code == CLD_EXITED ? ExitStatus{.code = info.si_status}
                                    : ExitStatus{.signal = info.si_status};
}

}  // namespace

WarmPool::~WarmPool() {
  for (auto& [token, forked] : forked_) {
    signal(token, SIGKILL);
  }
}

std::optional<std::string> WarmPool::start(const ZygoteKey& key, ZygoteRequest request, Moment now,
                                           Watch& watch) {
  if (!slots_.contains(key) && slots_.size() >= options_.zygotes_max && !make_room()) {
    return fmt::format("all {} warm interpreters have workers of other kinds", slots_.size());
  }
  ZygoteSlot& slot = slots_[key];
  if (!slot.unfit.empty()) {
    return slot.unfit;
  }
  if (!slot.zygote) {
    auto zygote = Zygote::start({.key = key,
                                 .environment = request.process.environment,
                                 .modules = options_.modules,
                                 .guard = options_.guard});
    ++slot.starts;
    if (!zygote) {
      slot.unfit = zygote.error().message;
      return slot.unfit;
    }
    watch.add(zygote->descriptor());
    slot.zygote.emplace(std::move(*zygote));
    slot.is_ready = false;
  }
  slot.waiting.push_back(std::move(request));
  if (slot.waiting.size() == 1) {
    slot.since = now;
  }
  ask(slot, now);
  return std::nullopt;
}

// Ends the zygote that has been idle for longest; false if all have something to do.
bool WarmPool::make_room() {
  auto oldest = slots_.end();
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    const bool is_idle =
        slot->second.waiting.empty() && std::ranges::none_of(forked_, [&](const auto& entry) {
          return entry.second.key == slot->first;
        });
    if (is_idle && (oldest == slots_.end() || slot->second.since < oldest->second.since)) {
      oldest = slot;
    }
  }
  if (oldest == slots_.end()) {
    return false;
  }
  slots_.erase(oldest);
  return true;
}

// One request at a time, so that none waits in a socket that nobody reads.
void WarmPool::ask(ZygoteSlot& slot, Moment now) {
  while (slot.is_ready && !slot.has_asked && !slot.waiting.empty()) {
    const ZygoteRequest& request = slot.waiting.front();
    if (Status status = slot.zygote->request(request); !status) {
      news_.push_back(
          {.word = WarmWord::StartCold, .token = request.token, .why = status.error().message});
      slot.waiting.pop_front();
      continue;
    }
    slot.has_asked = true;
    slot.since = now;
  }
}

void WarmPool::hear(const ZygoteKey& key, ZygoteSlot& slot, Moment now, Watch& watch) {
  for (ZygoteNews& news : slot.zygote->receive()) {
    on_message(key, slot, std::move(news), watch);
    if (!slot.zygote) {
      return;
    }
  }
  ask(slot, now);
}

void WarmPool::on_message(const ZygoteKey& key, ZygoteSlot& slot, ZygoteNews news, Watch& watch) {
  const auto is_asked = [&] { return slot.has_asked && slot.waiting.front().token == news.token; };
  switch (news.word) {
    case ZygoteWord::Ready:
      slot.is_ready = true;
      return;
    case ZygoteWord::Unfit:
      slot.unfit = news.why;
      give_up(key, slot, news.why);
      return;
    case ZygoteWord::Started:
      if (is_asked()) {
        on_started(key, slot, std::move(news), watch);
      }
      return;
    case ZygoteWord::Refused:
      if (is_asked()) {
        news_.push_back({.word = WarmWord::StartCold, .token = news.token, .why = news.why});
        slot.waiting.pop_front();
        slot.has_asked = false;
      }
      return;
    case ZygoteWord::Ended: {
      const auto ended = std::ranges::find_if(forked_, [&](const auto& entry) {
        return entry.second.pid == news.pid && entry.second.key == key;
      });
      if (ended != forked_.end()) {
        // Its descriptor is shared with the zygote, so closing ours alone would not end the watch.
        watch.remove(ended->second.pidfd.get());
        end(ended->first, {.word = WarmWord::Ended, .status = news.status});
      }
      slot.zygote->reap(news.pid);
      return;
    }
    case ZygoteWord::Gone:
      give_up(key, slot, fmt::format("its warm interpreter is gone: {}", news.why));
      return;
  }
}

// Known to us and to the guard before it runs.
void WarmPool::on_started(const ZygoteKey& key, ZygoteSlot& slot, ZygoteNews news, Watch& watch) {
  if (options_.guard >= 0) {
    GroupGuard::watch(options_.guard, news.pid);
  }
  watch.add(news.pidfd.get());
  forked_[news.token] = ForkedWorker{.pid = news.pid, .pidfd = std::move(news.pidfd), .key = key};
  news_.push_back({.word = WarmWord::Started, .token = news.token});
  slot.waiting.pop_front();
  slot.has_asked = false;
  slot.zygote->go();
}

void WarmPool::end(std::uint64_t token, WarmNews news) {
  const auto ended = forked_.find(token);
  if (options_.guard >= 0) {
    GroupGuard::forget(options_.guard, ended->second.pid);
  }
  forked_.erase(ended);
  news.token = token;
  news_.push_back(std::move(news));
}

// The zygote is dead after this, so whoever it has not been told to let go never runs.
void WarmPool::give_up(const ZygoteKey& key, ZygoteSlot& slot, const std::string& why) {
  slot.zygote->kill();
  slot.zygote.reset();
  slot.has_asked = false;
  slot.is_ready = false;
  if (slot.starts >= kStartsMax && slot.unfit.empty()) {
    slot.unfit = why;
  }
  for (const ZygoteRequest& request : std::exchange(slot.waiting, {})) {
    news_.push_back({.word = WarmWord::StartCold, .token = request.token, .why = why});
  }
  for (auto& [token, forked] : forked_) {
    forked.is_orphan = forked.is_orphan || forked.key == key;
  }
}

void WarmPool::look_for_dead(Moment now, Watch& watch) {
  std::vector<std::uint64_t> orphans;
  for (auto& [token, forked] : forked_) {
    if (!forked.dead_since && is_dead(forked.pidfd.get())) {
      watch.remove(forked.pidfd.get());
      forked.dead_since = now;
      if (forked.is_orphan) {
        ::kill(-forked.pid, SIGKILL);  // What it left in its group; nobody else will.
      }
    }
    if (forked.is_orphan && forked.dead_since) {
      orphans.push_back(token);
    }
  }
  for (const std::uint64_t token : orphans) {
    settle_orphan(token, forked_.at(token), now);
  }
}

void WarmPool::settle_orphan(std::uint64_t token, ForkedWorker& forked, Moment now) {
  auto status = inherited_end(forked.pidfd.get());
  if (!status) {
    status = ended_elsewhere(forked.pidfd.get(), forked.pid);
  }
  if (status) {
    end(token, {.word = WarmWord::Ended, .status = *status});
  } else if (now - *forked.dead_since >= kOrphanPatience) {
    end(token, {.word = WarmWord::Lost,
                .why = "the warm interpreter that started it, and alone is told how it ended, died "
                       "before it"});
  }
}

void WarmPool::lose_patience(Moment now) {
  for (auto& [key, slot] : slots_) {
    const bool is_late = !slot.waiting.empty() && now - slot.since >= options_.patience;
    const bool is_silent = std::ranges::any_of(forked_, [&, &key = key](const auto& entry) {
      const ForkedWorker& forked = entry.second;
      return forked.key == key && !forked.is_orphan && forked.dead_since &&
             now - *forked.dead_since >= options_.patience;
    });
    if (slot.zygote && (is_late || is_silent)) {
      give_up(key, slot,
              fmt::format("its warm interpreter did not answer within {} ms",
                          options_.patience.count()));
    }
  }
}

std::vector<WarmNews> WarmPool::poll(Moment now, Watch& watch) {
  for (auto& [key, slot] : slots_) {
    if (slot.zygote) {
      hear(key, slot, now, watch);
    }
  }
  lose_patience(now);
  look_for_dead(now, watch);
  return std::exchange(news_, {});
}

// Until we let it be reaped, the number of a child belongs to nobody else. An orphan may have been
// reaped by another, so its group is signalled only while it is seen to live.
bool WarmPool::signal(std::uint64_t token, int signal) {
  const auto found = forked_.find(token);
  if (found == forked_.end() || (found->second.is_orphan && is_dead(found->second.pidfd.get()))) {
    return false;
  }
  return ::kill(-found->second.pid, signal) == 0;
}

std::optional<pid_t> WarmPool::pid(std::uint64_t token) const {
  const auto found = forked_.find(token);
  return found == forked_.end() ? std::nullopt : std::optional(found->second.pid);
}

std::optional<std::chrono::nanoseconds> WarmPool::alarm(Moment now) const {
  std::optional<std::chrono::nanoseconds> first;
  const auto at = [&](std::chrono::nanoseconds time) {
    first = std::max(std::min(first.value_or(time), time), std::chrono::nanoseconds{0});
  };
  if (!news_.empty()) {
    at(std::chrono::nanoseconds{0});
  }
  for (const auto& [key, slot] : slots_) {
    if (slot.zygote && !slot.waiting.empty()) {
      at(slot.since + options_.patience - now);
    }
  }
  for (const auto& [token, forked] : forked_) {
    if (forked.dead_since) {
      at(forked.is_orphan ? std::chrono::nanoseconds{kOrphanLook}
                          : *forked.dead_since + options_.patience - now);
    }
  }
  return first;
}

}  // namespace rubato
