// The flags that `rubato run`, `submit` and `quote` share: the table of job fields, on the command
// line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/spec/deadline_text.h"
#include "rubato/wire/platform.pb.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace rubato {

struct JobFlags {
  std::map<std::string, std::string> texts{};  // By field; empty: not given.
  std::vector<std::string> environment{};
  // Two places for what is one list: after `--`, CLI11 goes on with an empty place only.
  std::string first_word{};
  std::vector<std::string> other_words{};

  /// A job file, if the first is named like one; then a command.
  [[nodiscard]] std::vector<std::string> words() const;
};

void add_job_flags(CLI::App& verb, JobFlags& flags);
/// The places for words, by name and help.
struct WordPlaces {
  const char* first = "command";
  const char* first_help = "A job file (.yaml, .yml, .json), or the program after --";
  const char* others = "arguments";
  const char* others_help =
      "Of the program; after a job file and --, a command in place of its own";
};
void add_job_words(CLI::App& verb, JobFlags& flags, const WordPlaces& places = {});

/// Where and when a job is described.
struct JobSetting {
  WallClock clock{};
  std::string directory{};  // Absolute.
};
[[nodiscard]] JobSetting local_setting();

/// The job that file, flags and command describe together: flags win over the file. It has passed
/// validate_spec(). `is_file_first`: the first word is a file, whatever its name; `-` is standard
/// input.
[[nodiscard]] Result<wire::JobSpec> described_job(const JobFlags& flags, const JobSetting& setting,
                                                  bool is_file_first = false);

}  // namespace rubato
