#include "rubato/live/service/caller.h"

namespace rubato {

std::string_view to_string(Role role) {
  switch (role) {
    case Role::Viewer:
      return "viewer";
    case Role::User:
      return "user";
    case Role::Admin:
      return "admin";
  }
  return "?";
}

std::optional<Role> parse_role(std::string_view word) {
  for (const Role role : {Role::Viewer, Role::User, Role::Admin}) {
    if (to_string(role) == word) {
      return role;
    }
  }
  return std::nullopt;
}

}  // namespace rubato
