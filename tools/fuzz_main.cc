// Runs a fuzz target without libFuzzer: a bounded, reproducible walk through a corpus.
//
// Every corpus file is run as it is, then mutated a fixed number of times. What is tried depends
// only on the seed and the corpus, so a failure can be repeated anywhere. An input that aborts or
// takes too long fails the run and is written to crash-<target>.
//
// Usage: <target>_fuzz [--runs=N] [--seed=N] [--seconds=N] [--slow-ms=N] [FILE|DIRECTORY]...

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Present only in sanitizer builds.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Bytes = std::string;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kInputBytesMax = 64 * 1024;  // Longer corpus files are run whole, cut after.
constexpr unsigned kHangSeconds = 60;              // An input running this long is a failure.

// Text that trace and configuration readers are likely to stumble over.
constexpr std::array<std::string_view, 40> kTokens = {"0",
                                                      "-0",
                                                      "-1",
                                                      "1",
                                                      "7",
                                                      "255",
                                                      "65536",
                                                      "2147483647",
                                                      "-2147483648",
                                                      "1e308",
                                                      "1e-9",
                                                      "1e999",
                                                      "0x10",
                                                      "0.5",
                                                      ".",
                                                      "nan",
                                                      "inf",
                                                      "-inf",
                                                      "null",
                                                      "true",
                                                      "\"\"",
                                                      "[]",
                                                      "{}",
                                                      "[[[[",
                                                      "{\"a\":",
                                                      "\"",
                                                      ",",
                                                      ",,,,",
                                                      ";",
                                                      ":",
                                                      "\n",
                                                      "\r\n",
                                                      "\n\n",
                                                      "\t",
                                                      "#",
                                                      "9223372036854775807",
                                                      "-9223372036854775808",
                                                      "18446744073709551616",
                                                      "\xEF\xBB\xBF",
                                                      "2017-10-03 24:61:61"};

struct Options {
  std::uint64_t runs = 300;    // Mutations of each corpus file.
  std::uint64_t seed = 1;      // Chooses the mutations.
  std::uint64_t seconds = 60;  // No new input is started after this long.
  std::uint64_t slow_ms = 5000;
  std::vector<std::string> paths;
};

// SplitMix64: small, and the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  // A number in [0, bound); 0 if bound is 0.
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : next() % bound; }

 private:
  std::uint64_t state_;
};

// What is being run, for the report of a crash. A signal handler can reach nothing but globals.
struct Current {
  std::string target;
  std::string origin;
  std::uint64_t mutation = 0;
  std::uint64_t seed = 0;
  Bytes input;
};
Current current;

// Says which input failed and keeps it.
void report_failure() {
  const std::string file = "crash-" + current.target;
  std::ofstream(file, std::ios::binary) << current.input;
  std::fprintf(stderr, "%s: FAILED at seed %llu, %s, mutation %llu (0: as it is), %zu bytes: %s\n",
               current.target.c_str(), static_cast<unsigned long long>(current.seed),
               current.origin.c_str(), static_cast<unsigned long long>(current.mutation),
               current.input.size(), file.c_str());
}

void on_signal(int signal) {
  std::signal(signal, SIG_DFL);
  report_failure();
  if (signal == SIGALRM) {
    std::fprintf(stderr, "%s: hangs\n", current.target.c_str());
  }
  std::abort();
}

void watch_for_failure() {
  std::signal(SIGABRT, on_signal);
  std::signal(SIGALRM, on_signal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(report_failure);
    return;
  }
  std::signal(SIGSEGV, on_signal);
  std::signal(SIGFPE, on_signal);
}

Bytes random_token(Random& random) {
  if (random.below(3) == 0) {
    return std::to_string(static_cast<std::int64_t>(random.next() >> random.below(64)));
  }
  return Bytes(kTokens[random.below(kTokens.size())]);
}

// One small change. `other` is another corpus file, for splices.
void mutate_once(Bytes& input, const Bytes& other, Random& random) {
  const std::size_t at = random.below(input.size() + 1);
  const std::size_t length = random.below(std::min<std::size_t>(input.size() - at, 32) + 1);
  switch (random.below(8)) {
    case 0:
      if (at < input.size()) {
        input[at] = static_cast<char>(input[at] ^ (1 << random.below(8)));
      }
      break;
    case 1:
      if (at < input.size()) {
        input[at] = static_cast<char>(random.below(256));
      }
      break;
    case 2:
      input.resize(at);
      break;
    case 3:
      input.erase(at, length);
      break;
    case 4:
      input.insert(at, input.substr(at, length));
      break;
    case 5:
      input.replace(at, length, random_token(random));
      break;
    case 6:
      input.insert(at, random_token(random));
      break;
    default: {
      const std::size_t from = random.below(other.size() + 1);
      input.replace(at, length, other.substr(from, random.below(256)));
    }
  }
}

// One to eight changes.
Bytes mutated(Bytes input, const Bytes& other, Random& random) {
  for (std::size_t left = 1 + random.below(8); left > 0; --left) {
    mutate_once(input, other, random);
  }
  input.resize(std::min(input.size(), kInputBytesMax));
  return input;
}

// Runs `current`; false if it was too slow.
bool run_current(std::uint64_t slow_ms) {
  // A fresh copy of exact size, so that reading past the end is seen.
  const std::vector<std::uint8_t> exact(current.input.begin(), current.input.end());
  const Clock::time_point start = Clock::now();
  alarm(kHangSeconds);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  alarm(0);
  const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  if (static_cast<std::uint64_t>(taken.count()) <= slow_ms) {
    return true;
  }
  std::fprintf(stderr, "%s: slow input, %lld ms\n", current.target.c_str(),
               static_cast<long long>(taken.count()));
  report_failure();
  return false;
}

struct Seed {
  std::string name;
  Bytes bytes;
};

Seed read_seed(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {path.filename().string(), {std::istreambuf_iterator<char>(file), {}}};
}

// All files named, and the empty input, in an order that is the same everywhere.
std::vector<Seed> read_corpus(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
        if (entry.is_regular_file()) {
          files.push_back(entry.path());
        }
      }
    } else if (std::filesystem::exists(path)) {
      files.emplace_back(path);
    } else {
      std::fprintf(stderr, "%s: no such corpus, going on without it\n", path.c_str());
    }
  }
  std::ranges::sort(files);
  std::vector<Seed> corpus = {{"(empty)", ""}};
  std::ranges::transform(files, std::back_inserter(corpus), read_seed);
  return corpus;
}

// The number after `name`, if the argument is that flag.
bool read_flag(std::string_view argument, std::string_view name, std::uint64_t& value) {
  if (!argument.starts_with(name)) {
    return false;
  }
  value = std::strtoull(argument.data() + name.size(), nullptr, 10);
  return true;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const char* argument = argv[i];
    const bool is_flag = read_flag(argument, "--runs=", options.runs) ||
                         read_flag(argument, "--seed=", options.seed) ||
                         read_flag(argument, "--seconds=", options.seconds) ||
                         read_flag(argument, "--slow-ms=", options.slow_ms);
    if (!is_flag && std::strncmp(argument, "--", 2) == 0) {
      std::fprintf(stderr, "unknown flag %s\n", argument);
      std::exit(64);
    }
    if (!is_flag) {
      options.paths.emplace_back(argument);
    }
  }
  return options;
}

// Round by round, so that a time limit cuts every file's mutations, not the last files.
std::uint64_t run_all(const Options& options, const std::vector<Seed>& corpus, bool& all_fast) {
  const Clock::time_point stop = Clock::now() + std::chrono::seconds(options.seconds);
  std::uint64_t inputs = 0;
  for (std::uint64_t round = 0; round <= options.runs; ++round) {
    for (std::size_t i = 0; i < corpus.size(); ++i) {
      if (round > 0 && Clock::now() >= stop) {
        return inputs;
      }
      current.origin = corpus[i].name;
      current.mutation = round;
      current.input = corpus[i].bytes;
      if (round > 0) {
        Random random(options.seed * 0x100000001B3U + round * 0x10001U + i);
        const Bytes& other = corpus[random.below(corpus.size())].bytes;
        current.input.resize(std::min(current.input.size(), kInputBytesMax));
        current.input = mutated(std::move(current.input), other, random);
      }
      all_fast = run_current(options.slow_ms) && all_fast;
      ++inputs;
    }
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const std::vector<Seed> corpus = read_corpus(options.paths);
  current.target = std::filesystem::path(argv[0]).filename().string();
  current.seed = options.seed;
  watch_for_failure();

  bool all_fast = true;
  const std::uint64_t inputs = run_all(options, corpus, all_fast);
  std::printf("%s: seed %llu, %zu corpus files, %llu inputs, %s\n", current.target.c_str(),
              static_cast<unsigned long long>(options.seed), corpus.size() - 1,
              static_cast<unsigned long long>(inputs), all_fast ? "ok" : "SLOW");
  return all_fast ? EXIT_SUCCESS : EXIT_FAILURE;
}
