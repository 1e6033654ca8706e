// How many inputs per second become durable, against how many share one commit, and how long a
// restart takes to load a checkpoint behind a long history.
//
// The files are in the folder for temporary files (TMPDIR): what is measured is mostly its disk.
#include "rubato/live/journal/journal_store.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace rubato {
namespace {

constexpr std::size_t kSpecBytes = 500;

/// A folder that goes away with it.
struct JournalBenchFolder {
  JournalBenchFolder() {
    path = (std::filesystem::temp_directory_path() / "rubato-bench-XXXXXX").string();
    RUBATO_CHECK(::mkdtemp(path.data()) != nullptr);
  }
  JournalBenchFolder(const JournalBenchFolder&) = delete;
  JournalBenchFolder& operator=(const JournalBenchFolder&) = delete;
  ~JournalBenchFolder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file() const { return path + "/journal.sqlite"; }

  std::string path{};
};

// Submissions, as they come from users: with a spec, an event and a key.
std::vector<JournalItem> bench_submissions(std::uint64_t first, std::int64_t count) {
  std::vector<JournalItem> items(static_cast<std::size_t>(count));
  for (JournalItem& item : items) {
    const std::string job = std::to_string(first);
    auto& submitted = *item.record.input.mutable_submitted();
    submitted.set_job(first);
    submitted.mutable_spec()->set_name(std::string(kSpecBytes, 'x'));
    item.record.commands = "admit " + job + "\n";
    item.events.emplace_back().set_job(job);
    item.key = SubmissionKey{.user = "ada", .key = job, .job = first};
    ++first;
  }
  return items;
}

void append(benchmark::State& state) {
  const JournalBenchFolder folder;
  auto store = JournalStore::open(folder.file(), {});
  RUBATO_CHECK(store.ok());
  for ([[maybe_unused]] auto _ : state) {
    auto batch = bench_submissions(store->last_sequence() + 1, state.range(0));
    if (const Status appended = store->append(batch); !appended) {
      state.SkipWithError(appended.error().message.c_str());
      break;
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(store->last_sequence()));
}

void load(benchmark::State& state) {
  const JournalBenchFolder folder;
  {
    auto store = JournalStore::open(folder.file(), {});
    auto batch = bench_submissions(1, state.range(0));
    RUBATO_CHECK(store.ok() && store->append(batch).ok());
    RUBATO_CHECK(store->add_checkpoint(std::string(5'000'000, 's')).ok());
  }
  for ([[maybe_unused]] auto _ : state) {
    const auto store = JournalStore::open(folder.file(), {});
    const auto checkpoint = store->history().newest_checkpoint();
    RUBATO_CHECK(checkpoint.ok() && checkpoint->has_value());
    benchmark::DoNotOptimize((*checkpoint)->bytes.size());
  }
}

void replay(benchmark::State& state) {
  const JournalBenchFolder folder;
  auto store = JournalStore::open(folder.file(), {});
  auto batch = bench_submissions(1, state.range(0));
  RUBATO_CHECK(store.ok() && store->append(batch).ok());
  for ([[maybe_unused]] auto _ : state) {
    std::int64_t inputs = 0;
    const Status read = store->history().for_each_input(0, [&](const JournalRecord&) {
      ++inputs;
      return ok_status();
    });
    RUBATO_CHECK(read.ok() && inputs == state.range(0));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

[[maybe_unused]] const bool kJournalRegistered = [] {
  benchmark::RegisterBenchmark("Journal/append", append)
      ->ArgName("batch")
      ->Arg(1)
      ->Arg(10)
      ->Arg(100)
      ->UseRealTime();
  benchmark::RegisterBenchmark("Journal/load", load)
      ->ArgName("inputs")
      ->Arg(10'000)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("Journal/replay", replay)
      ->ArgName("inputs")
      ->Arg(10'000)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace rubato
