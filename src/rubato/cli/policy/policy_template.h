// The text of a new policy: real files, compiled and tested under templates/, with another name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"

namespace rubato {

/// A policy's name in the spellings its files need.
struct PolicyName {
  std::string words{};   // `edf-ac`: what users type.
  std::string snake{};   // `edf_ac`: files and functions.
  std::string pascal{};  // `EdfAc`: types.
};

/// Words of small letters and digits joined by '-'. The error says what is wrong.
[[nodiscard]] Result<PolicyName> parse_policy_name(std::string_view text);

struct TemplateFile {
  std::string name{};
  std::string text{};
};

/// Header, source and test, in a folder of their own.
[[nodiscard]] std::vector<TemplateFile> policy_files(const PolicyName& name);

/// What names the policy in registered.inc.
[[nodiscard]] std::string policy_line(const PolicyName& name);

/// The text of registered.inc with one line more, where the alphabet wants it.
[[nodiscard]] std::string with_policy_line(std::string_view registered, const PolicyName& name);

/// The template itself; the build makes these from the files under templates/.
[[nodiscard]] std::string_view template_header();
[[nodiscard]] std::string_view template_source();
[[nodiscard]] std::string_view template_test();

}  // namespace rubato
