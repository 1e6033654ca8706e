#include "rubato/cli/policy/policy_new.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>

#include <fmt/core.h>

#include "rubato/cli/policy/policy_template.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/process/trace_output.h"
#include "rubato/cli/process/verb_failure.h"
#include "rubato/policy/registry.h"

namespace rubato {
namespace {

constexpr std::string_view kRegistered = "registered.inc";

std::string path_in(const std::string& dir, std::string_view name) {
  return (std::filesystem::path(dir) / name).string();
}

Result<std::string> read_registered(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return bad_input(fmt::format(
        "{}: cannot be read; expected the list of policies in the folder of --dir", path));
  }
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

// Whether the name is free: in this program, and in the folder.
Status check_free(const PolicyName& name, const std::string& room, const std::string& registered) {
  for (const PolicyInfo& info : all_policies()) {
    if (info.name == name.words) {
      return bad_input(fmt::format("policy '{}' exists already", name.words));
    }
  }
  if (registered.find(policy_line(name)) != std::string::npos) {
    return bad_input(fmt::format("{} has a line for '{}' already", kRegistered, name.snake));
  }
  std::error_code ignored;
  if (std::filesystem::exists(room, ignored)) {
    return bad_input(fmt::format("{}: exists already", room));
  }
  return ok_status();
}

// All files or none: texts go beside their targets first, names change last.
Status write_all(const std::vector<std::string>& paths, const std::vector<TemplateFile>& files) {
  std::vector<std::unique_ptr<OutputFile>> outputs;
  for (std::size_t i = 0; i < files.size(); ++i) {
    outputs.push_back(std::make_unique<OutputFile>(paths[i]));
    if (Status opened = outputs.back()->open(); !opened) {
      return opened;
    }
    outputs.back()->write(files[i].text);
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (Status done = outputs[i]->commit(); !done) {
      // The list of policies is the last to be replaced, so all before it are new.
      std::for_each_n(paths.begin(), i, [](const std::string& path) { std::remove(path.c_str()); });
      return done;
    }
  }
  return ok_status();
}

}  // namespace

Result<std::vector<std::string>> write_new_policy(const NewPolicyRequest& request) {
  const auto name = parse_policy_name(request.name);
  if (!name) {
    return name.error();
  }
  const std::string list = path_in(request.dir, kRegistered);
  const auto registered = read_registered(list);
  if (!registered) {
    return registered.error();
  }
  std::vector<TemplateFile> files = policy_files(*name);
  std::vector<std::string> paths;
  paths.reserve(files.size() + 1);
  for (const TemplateFile& file : files) {
    paths.push_back(path_in(request.dir, file.name));
  }
  const std::string room = path_in(request.dir, name->snake);
  if (Status is_free = check_free(*name, room, *registered); !is_free) {
    return is_free.error();
  }
  files.push_back({.name = std::string(kRegistered), .text = with_policy_line(*registered, *name)});
  paths.push_back(list);
  std::error_code failure;
  if (!std::filesystem::create_directory(room, failure)) {
    return bad_input(fmt::format("{}: cannot be made: {}", room, failure.message()));
  }
  if (Status written = write_all(paths, files); !written) {
    std::filesystem::remove(room, failure);  // It is empty again.
    return written.error();
  }
  return paths;
}

int run_policy_new(const NewPolicyRequest& request) {
  const auto written = write_new_policy(request);
  if (!written) {
    return fail_verb("policy new", written.error());
  }
  for (const std::string& path : *written) {
    fmt::print("wrote {}\n", path);
  }
  fmt::print(
      "It schedules and its tests pass as it is. Next: change it, then\n"
      "  make build && build/policy_test && build/rubato sim --policy {},srtf --trace FILE\n"
      "  make docs\n",
      request.name);
  return kExitOk;
}

}  // namespace rubato
