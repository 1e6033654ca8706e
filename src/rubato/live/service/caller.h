// Who asks: every request of the interface carries one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rubato {

enum class Role { Viewer, User, Admin };

[[nodiscard]] std::string_view to_string(Role role);
/// `viewer`, `user`, `admin`; nothing for any other word.
[[nodiscard]] std::optional<Role> parse_role(std::string_view word);

/// A user as the token, or the local socket, names them.
struct Caller {
  std::string user{};
  std::string tenant{};  // Empty: all tenants.
  Role role = Role::User;
};

}  // namespace rubato
