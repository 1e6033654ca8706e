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
  for (auto& [token, hatchling] : hatchlings_) {
    signal(token, SIGKILL);
  }
}

std::optional<std::string> WarmPool::start(const ZygoteKey& key, ZygoteRequest request, Moment now,
                                           Watch& watch) {
  if (!nests_.contains(key) && nests_.size() >= options_.zygotes_max && !make_room()) {
    return fmt::format("all {} warm interpreters have workers of other kinds", nests_.size());
  }
  ZygoteSlot& nest = nests_[key];
  if (!nest.unfit.empty()) {
    return nest.unfit;
  }
  if (!nest.zygote) {
    auto zygote = Zygote::start({.key = key,
                                 .environment = request.process.environment,
                                 .modules = options_.modules,
                                 .guard = options_.guard});
    ++nest.starts;
    if (!zygote) {
      nest.unfit = zygote.error().message;
      return nest.unfit;
    }
    watch.add(zygote->descriptor());
    nest.zygote.emplace(std::move(*zygote));
    nest.is_ready = false;
  }
  nest.waiting.push_back(std::move(request));
  if (nest.waiting.size() == 1) {
    nest.since = now;
  }
  ask(nest, now);
  return std::nullopt;
}

// Ends the zygote that has been idle for longest; false if all have something to do.
bool WarmPool::make_room() {
  auto oldest = nests_.end();
  for (auto nest = nests_.begin(); nest != nests_.end(); ++nest) {
    const bool is_idle =
        nest->second.waiting.empty() && std::ranges::none_of(hatchlings_, [&](const auto& entry) {
          return entry.second.key == nest->first;
        });
    if (is_idle && (oldest == nests_.end() || nest->second.since < oldest->second.since)) {
      oldest = nest;
    }
  }
  if (oldest == nests_.end()) {
    return false;
  }
  nests_.erase(oldest);
  return true;
}

// One request at a time, so that none waits in a socket that nobody reads.
void WarmPool::ask(ZygoteSlot& nest, Moment now) {
  while (nest.is_ready && !nest.has_asked && !nest.waiting.empty()) {
    const ZygoteRequest& request = nest.waiting.front();
    if (Status status = nest.zygote->request(request); !status) {
      news_.push_back(
          {.word = WarmWord::StartCold, .token = request.token, .why = status.error().message});
      nest.waiting.pop_front();
      continue;
    }
    nest.has_asked = true;
    nest.since = now;
  }
}

void WarmPool::hear(const ZygoteKey& key, ZygoteSlot& nest, Moment now, Watch& watch) {
  for (ZygoteNews& news : nest.zygote->receive()) {
    heed(key, nest, std::move(news), watch);
    if (!nest.zygote) {
      return;
    }
  }
  ask(nest, now);
}

void WarmPool::heed(const ZygoteKey& key, ZygoteSlot& nest, ZygoteNews news, Watch& watch) {
  const auto is_asked = [&] { return nest.has_asked && nest.waiting.front().token == news.token; };
  switch (news.word) {
    case ZygoteWord::Ready:
      nest.is_ready = true;
      return;
    case ZygoteWord::Unfit:
      nest.unfit = news.why;
      give_up(key, nest, news.why);
      return;
    case ZygoteWord::Started:
      if (is_asked()) {
        fork_worker(key, nest, std::move(news), watch);
      }
      return;
    case ZygoteWord::Refused:
      if (is_asked()) {
        news_.push_back({.word = WarmWord::StartCold, .token = news.token, .why = news.why});
        nest.waiting.pop_front();
        nest.has_asked = false;
      }
      return;
    case ZygoteWord::Ended: {
      const auto ended = std::ranges::find_if(hatchlings_, [&](const auto& entry) {
        return entry.second.pid == news.pid && entry.second.key == key;
      });
      if (ended != hatchlings_.end()) {
        // Its descriptor is shared with the zygote, so closing ours alone would not end the watch.
        watch.remove(ended->second.pidfd.get());
        end(ended->first, {.word = WarmWord::Ended, .status = news.status});
      }
      nest.zygote->reap(news.pid);
      return;
    }
    case ZygoteWord::Gone:
      give_up(key, nest, fmt::format("its warm interpreter is gone: {}", news.why));
      return;
  }
}

// Known to us and to the guard before it runs.
void WarmPool::fork_worker(const ZygoteKey& key, ZygoteSlot& nest, ZygoteNews news, Watch& watch) {
  if (options_.guard >= 0) {
    GroupGuard::watch(options_.guard, news.pid);
  }
  watch.add(news.pidfd.get());
  hatchlings_[news.token] =
      ForkedWorker{.pid = news.pid, .pidfd = std::move(news.pidfd), .key = key};
  news_.push_back({.word = WarmWord::Started, .token = news.token});
  nest.waiting.pop_front();
  nest.has_asked = false;
  nest.zygote->go();
}

void WarmPool::end(std::uint64_t token, WarmNews news) {
  const auto ended = hatchlings_.find(token);
  if (options_.guard >= 0) {
    GroupGuard::forget(options_.guard, ended->second.pid);
  }
  hatchlings_.erase(ended);
  news.token = token;
  news_.push_back(std::move(news));
}

// The zygote is dead after this, so whoever it has not been told to let go never runs.
void WarmPool::give_up(const ZygoteKey& key, ZygoteSlot& nest, const std::string& why) {
  nest.zygote->kill();
  nest.zygote.reset();
  nest.has_asked = false;
  nest.is_ready = false;
  if (nest.starts >= kStartsMax && nest.unfit.empty()) {
    nest.unfit = why;
  }
  for (const ZygoteRequest& request : std::exchange(nest.waiting, {})) {
    news_.push_back({.word = WarmWord::StartCold, .token = request.token, .why = why});
  }
  for (auto& [token, hatchling] : hatchlings_) {
    hatchling.is_orphan = hatchling.is_orphan || hatchling.key == key;
  }
}

void WarmPool::look_for_dead(Moment now, Watch& watch) {
  std::vector<std::uint64_t> orphans;
  for (auto& [token, hatchling] : hatchlings_) {
    if (!hatchling.dead_since && is_dead(hatchling.pidfd.get())) {
      watch.remove(hatchling.pidfd.get());
      hatchling.dead_since = now;
      if (hatchling.is_orphan) {
        ::kill(-hatchling.pid, SIGKILL);  // What it left in its group; nobody else will.
      }
    }
    if (hatchling.is_orphan && hatchling.dead_since) {
      orphans.push_back(token);
    }
  }
  for (const std::uint64_t token : orphans) {
    settle_orphan(token, hatchlings_.at(token), now);
  }
}

void WarmPool::settle_orphan(std::uint64_t token, ForkedWorker& hatchling, Moment now) {
  auto status = inherited_end(hatchling.pidfd.get());
  if (!status) {
    status = ended_elsewhere(hatchling.pidfd.get(), hatchling.pid);
  }
  if (status) {
    end(token, {.word = WarmWord::Ended, .status = *status});
  } else if (now - *hatchling.dead_since >= kOrphanPatience) {
    end(token, {.word = WarmWord::Lost,
                .why = "the warm interpreter that started it, and alone is told how it ended, died "
                       "before it"});
  }
}

void WarmPool::lose_patience(Moment now) {
  for (auto& [key, nest] : nests_) {
    const bool is_late = !nest.waiting.empty() && now - nest.since >= options_.patience;
    const bool is_silent = std::ranges::any_of(hatchlings_, [&, &key = key](const auto& entry) {
      const ForkedWorker& hatchling = entry.second;
      return hatchling.key == key && !hatchling.is_orphan && hatchling.dead_since &&
             now - *hatchling.dead_since >= options_.patience;
    });
    if (nest.zygote && (is_late || is_silent)) {
      give_up(key, nest,
              fmt::format("its warm interpreter did not answer within {} ms",
                          options_.patience.count()));
    }
  }
}

std::vector<WarmNews> WarmPool::poll(Moment now, Watch& watch) {
  for (auto& [key, nest] : nests_) {
    if (nest.zygote) {
      hear(key, nest, now, watch);
    }
  }
  lose_patience(now);
  look_for_dead(now, watch);
  return std::exchange(news_, {});
}

// Until we let it be reaped, the number of a child belongs to nobody else. An orphan may have been
// reaped by another, so its group is signalled only while it is seen to live.
bool WarmPool::signal(std::uint64_t token, int signal) {
  const auto found = hatchlings_.find(token);
  if (found == hatchlings_.end() ||
      (found->second.is_orphan && is_dead(found->second.pidfd.get()))) {
    return false;
  }
  return ::kill(-found->second.pid, signal) == 0;
}

std::optional<pid_t> WarmPool::pid(std::uint64_t token) const {
  const auto found = hatchlings_.find(token);
  return found == hatchlings_.end() ? std::nullopt : std::optional(found->second.pid);
}

std::optional<std::chrono::nanoseconds> WarmPool::alarm(Moment now) const {
  std::optional<std::chrono::nanoseconds> first;
  const auto at = [&](std::chrono::nanoseconds time) {
    first = std::max(std::min(first.value_or(time), time), std::chrono::nanoseconds{0});
  };
  if (!news_.empty()) {
    at(std::chrono::nanoseconds{0});
  }
  for (const auto& [key, nest] : nests_) {
    if (nest.zygote && !nest.waiting.empty()) {
      at(nest.since + options_.patience - now);
    }
  }
  for (const auto& [token, hatchling] : hatchlings_) {
    if (hatchling.dead_since) {
      at(hatchling.is_orphan ? std::chrono::nanoseconds{kOrphanLook}
                             : *hatchling.dead_since + options_.patience - now);
    }
  }
  return first;
}

}  // namespace rubato
