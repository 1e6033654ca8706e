#include "rubato/cli/client/job_flags.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rubato/cli/text/wall_clock.h"
#include "rubato/spec/job_fields.h"
#include "rubato/spec/job_file.h"
#include "rubato/spec/validate_spec.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoDeadline = "none";

bool is_job_file_name(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

Result<std::string> file_text(const std::string& path) {
  if (path == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::error_code ignored;
  if (!file || fs::is_directory(path, ignored)) {
    return bad_input(
        fmt::format("{}: {}", path, errno == 0 ? "cannot be read" : std::strerror(errno)));
  }
  return text;
}

std::string joined_path(const fs::path& base, const std::string& path) {
  return (base / path).lexically_normal().string();
}

// What a file says; its relative directory counts from where the file lies.
Result<wire::JobSpec> job_of_file(const std::string& path, const JobSetting& setting) {
  const auto text = file_text(path);
  if (!text) {
    return text.error();
  }
  auto spec = parse_job_file(*text, path == "-" ? "standard input" : path, setting.clock);
  if (spec && !spec->working_directory().empty()) {
    const fs::path folder = path == "-" ? "" : fs::path(path).parent_path();
    spec->set_working_directory(
        joined_path(fs::path(setting.directory) / folder, spec->working_directory()));
  }
  return spec;
}

Error flag_error(const JobField& field, const std::string& message) {
  return bad_input(fmt::format("{}: {}", field.flag, message));
}

Status apply_flags(const JobFlags& flags, const JobSetting& setting, wire::JobSpec& spec) {
  for (const JobField& field : job_fields()) {
    std::vector<std::string> texts;
    if (field.kind == JobFieldKind::Variables) {
      texts = flags.environment;
    } else if (const auto found = flags.texts.find(std::string(field.name));
               found != flags.texts.end() && !found->second.empty()) {
      texts.push_back(found->second);
    }
    for (const std::string& text : texts) {
      if (field.kind == JobFieldKind::Deadline && text == kNoDeadline) {
        spec.clear_deadline();
        continue;
      }
      if (const Status set = set_job_field(field, text, setting.clock, spec); !set) {
        return flag_error(field, set.error().message);
      }
    }
  }
  const auto given = [&](const char* name) {
    const auto found = flags.texts.find(name);
    return found == flags.texts.end() ? std::string{} : found->second;
  };
  if (given("class") == "best_effort" && given("deadline").empty()) {
    spec.clear_deadline();
  }
  if (!given("working_directory").empty()) {
    spec.set_working_directory(joined_path(setting.directory, spec.working_directory()));
  }
  return ok_status();
}

// `train` for `python3 -u train.py`, `sh` for `sh -c ...`.
std::string name_of_command(const wire::JobSpec& spec) {
  std::string interpreter;
  for (const std::string& word : spec.command()) {
    const fs::path path(word);
    const bool is_interpreter = path.filename().string().starts_with("python") ||
                                path.filename() == "sh" || path.filename() == "bash" ||
                                path.filename() == "env";
    if (word == "-c" || word == "-m") {
      return interpreter;
    }
    if (is_interpreter) {
      interpreter = path.filename().string();
    } else if (!word.starts_with('-')) {
      return path.stem().string();
    }
  }
  return spec.kind() == "emulated" ? "emulated" : interpreter;
}

// What the client alone can know.
void fill_in_setting(const JobSetting& setting, wire::JobSpec& spec) {
  if (spec.name().empty()) {
    spec.set_name(name_of_command(spec));
  }
  if (spec.working_directory().empty() && spec.kind() != "emulated") {
    spec.set_working_directory(setting.directory);
  }
}

// A problem in the words of the command line.
Error spec_error(const SpecProblem& problem) {
  const JobField* field = find_job_field(problem.field);
  const bool has_flag = field != nullptr && !field->flag.empty();
  return bad_input(has_flag ? fmt::format("{} ({})", to_string(problem), field->flag)
                            : to_string(problem));
}

}  // namespace

void add_job_flags(CLI::App& verb, JobFlags& flags) {
  for (const JobField& field : job_fields()) {
    if (field.flag.empty()) {
      continue;
    }
    const std::string flag(field.flag);
    const std::string help(field.help);
    if (field.kind == JobFieldKind::Variables) {
      verb.add_option(flag, flags.environment, help)->allow_extra_args(false);
    } else {
      verb.add_option(flag, flags.texts[std::string(field.name)], help);
    }
  }
}

void add_job_words(CLI::App& verb, JobFlags& flags, const WordPlaces& places) {
  verb.add_option(places.first, flags.first_word, places.first_help);
  verb.add_option(places.others, flags.other_words, places.others_help);
}

std::vector<std::string> JobFlags::words() const {
  std::vector<std::string> all;
  if (!first_word.empty() || !other_words.empty()) {
    all.push_back(first_word);
    all.insert(all.end(), other_words.begin(), other_words.end());
  }
  return all;
}

JobSetting local_setting() {
  std::error_code failure;
  return {.clock = local_wall_clock(), .directory = fs::current_path(failure).string()};
}

Result<wire::JobSpec> described_job(const JobFlags& flags, const JobSetting& setting,
                                    bool is_file_first) {
  const std::vector<std::string> words = flags.words();
  std::span<const std::string> command(words);
  wire::JobSpec spec;
  if (!command.empty() && (is_file_first || is_job_file_name(command.front()))) {
    auto read = job_of_file(command.front(), setting);
    if (!read) {
      return read.error();
    }
    spec = *std::move(read);
    command = command.subspan(1);
  }
  if (const Status applied = apply_flags(flags, setting, spec); !applied) {
    return applied.error();
  }
  if (!command.empty()) {
    spec.mutable_command()->Assign(command.begin(), command.end());
  }
  fill_in_setting(setting, spec);
  if (const auto problem = validate_spec(spec)) {
    return spec_error(*problem);
  }
  return spec;
}

}  // namespace rubato
