#include "rest_load.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include <fmt/core.h>

namespace rubato {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kKinds = 16;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Steps per second at 1, 2, 4 and 8 workers, for one of a few kinds of model.
std::string speeds_json(std::uint64_t number, int workers_max) {
  std::string text;
  const double single = 1.0 + 0.25 * static_cast<double>(number % kKinds);
  for (int workers = 1; workers <= workers_max; workers *= 2) {
    text += fmt::format("{}{{\"workers\":{},\"steps_per_second\":{:.3f}}}", text.empty() ? "" : ",",
                        workers, single * std::pow(workers, 0.85));
  }
  return "[" + text + "]";
}

std::string spec_json(std::uint64_t number, double hours, const std::string& deadline,
                      int workers_max) {
  const double single = 1.0 + 0.25 * static_cast<double>(number % kKinds);
  return fmt::format(
      "{{\"name\":\"load-{}\",\"kind\":\"emulated\",\"model\":\"net{}\",\"batch\":64,"
      "\"steps\":{:.0f},\"speeds\":{}{}}}",
      number, number % kKinds, hours * 3600 * single, speeds_json(number, workers_max),
      deadline.empty() ? "" : fmt::format(",\"deadline\":\"{}\"", deadline));
}

/// One run of put_load(), shared by its threads.
struct LoadRun {
  const LoadOptions& options;
  Clock::time_point began = Clock::now();
  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> accepted = 0;
  std::mutex mutex{};
  LoadResult result{};

  [[nodiscard]] bool is_over() const {
    return options.seconds > 0 ? seconds_between(began, Clock::now()) >= options.seconds
                               : accepted >= options.accepted;
  }
};

void add(LoadRun& run, LoadResult& mine) {
  const std::lock_guard lock(run.mutex);
  LoadResult& all = run.result;
  all.submitted += mine.submitted;
  all.accepted += mine.accepted;
  all.refused += mine.refused;
  all.failed += mine.failed;
  const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(all.submit_latencies, mine.submit_latencies);
  append(all.quote_latencies, mine.quote_latencies);
  if (all.first_failure.empty()) {
    all.first_failure = mine.first_failure;
  }
}

void submit_on_and_on(LoadRun& run) {
  WebClient client(WebOptions{.server = run.options.server});
  LoadResult mine;
  while (!run.is_over()) {
    const std::uint64_t turn = run.next++;
    Clock::time_point due = Clock::now();
    if (run.options.rate > 0) {
      due = run.began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                            static_cast<double>(turn) / run.options.rate));
      std::this_thread::sleep_until(due);
      if (run.is_over()) {
        break;
      }
    }
    const auto reply = client.send(
        {.method = "POST", .target = "/v1/jobs", .body = job_json(run.options.first + turn, 8)});
    mine.submit_latencies.push_back(seconds_between(due, Clock::now()));
    ++mine.submitted;
    if (!reply || (reply->status != 201 && reply->status != 422 && reply->status != 409)) {
      ++mine.failed;
      mine.first_failure =
          !reply ? reply.error().message : fmt::format("{} {}", reply->status, reply->body);
    } else if (reply->body.find("\"REJECTED\"") != std::string::npos) {
      ++mine.refused;
    } else {
      ++mine.accepted;
      ++run.accepted;
    }
  }
  add(run, mine);
}

void ask_on_and_on(LoadRun& run, int which) {
  WebClient client(WebOptions{.server = run.options.server});
  LoadResult mine;
  const double every = run.options.askers / run.options.quote_rate;
  for (std::uint64_t turn = 0; !run.is_over(); ++turn) {
    const double at =
        every * (static_cast<double>(turn) + static_cast<double>(which) / run.options.askers);
    const auto due =
        run.began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(at));
    std::this_thread::sleep_until(due);
    if (run.is_over()) {
      break;
    }
    const auto reply =
        client.send({.method = "POST",
                     .target = "/v1/quotes",
                     .body = quoted_job_json(turn * 31 + static_cast<std::uint64_t>(which))});
    mine.quote_latencies.push_back(seconds_between(due, Clock::now()));
    if (!reply || reply->status != 200) {
      ++mine.failed;
      mine.first_failure =
          !reply ? reply.error().message : fmt::format("{} {}", reply->status, reply->body);
    }
  }
  add(run, mine);
}

}  // namespace

// Of twenty jobs twelve have no deadline and one worker, seven have one that can be had, and one
// has one that nobody can promise.
std::string job_json(std::uint64_t number, int workers_max) {
  const std::uint64_t turn = number % 20;
  if (turn == 19) {
    return spec_json(number, 8, "10m", workers_max);
  }
  if (turn % 3 == 2 || turn == 1) {
    const double hours = 0.5 + 0.25 * static_cast<double>(number * 7 % 16);
    return spec_json(number, hours, fmt::format("{}h", 24 + number * 5 % 72), workers_max);
  }
  return spec_json(number, 20, "", 1);
}

std::string quoted_job_json(std::uint64_t number) {
  const double hours = 0.5 + 0.25 * static_cast<double>(number * 5 % 16);
  return spec_json(number, hours, fmt::format("{}h", 6 + number * 11 % 60), 8);
}

LoadResult put_load(const LoadOptions& options) {
  LoadRun run{.options = options};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < options.submitters; ++i) {
      threads.emplace_back([&run] { submit_on_and_on(run); });
    }
    for (int i = 0; i < options.askers; ++i) {
      threads.emplace_back([&run, i] { ask_on_and_on(run, i); });
    }
  }
  run.result.seconds = seconds_between(run.began, Clock::now());
  std::ranges::sort(run.result.submit_latencies);
  std::ranges::sort(run.result.quote_latencies);
  return std::move(run.result);
}

double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) {
    return 0;
  }
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace rubato
