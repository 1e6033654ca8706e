#include "rubato/policy/tenant_share.h"

#include <algorithm>

#include <fmt/core.h>

#include "rubato/base/parse.h"

namespace rubato {
namespace {

constexpr double kSumMax = 1 + 1e-9;  // Thirds must be allowed to add up to one.

// One `NAME=SHARE`.
Result<TenantShare> parse_tenant(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::string_view name = trimmed(text.substr(0, equals));
  const auto share = equals == std::string_view::npos
                         ? std::nullopt
                         : parse_double(trimmed(text.substr(equals + 1)));
  if (name.empty() || !share || *share <= 0 || *share > 1) {
    return bad_input(
        fmt::format("tenants: '{}' is not NAME=SHARE with a share above 0 and up to 1", text));
  }
  return TenantShare{.name = std::string(name), .share = *share};
}

}  // namespace

Result<std::vector<TenantShare>> parse_tenants(std::string_view text) {
  std::vector<TenantShare> tenants;
  double sum = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    auto tenant = parse_tenant(text.substr(0, comma));
    if (!tenant) {
      return tenant.error();
    }
    if (std::ranges::find(tenants, tenant->name, &TenantShare::name) != tenants.end()) {
      return bad_input(fmt::format("tenants: '{}' is there twice", tenant->name));
    }
    sum += tenant->share;
    tenants.push_back(*std::move(tenant));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  if (sum > kSumMax) {
    return bad_input(fmt::format("tenants: the shares add up to {}, which is more than 1", sum));
  }
  return tenants;
}

std::string to_string(const std::vector<TenantShare>& tenants) {
  std::string text;
  for (const TenantShare& tenant : tenants) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", tenant.name, tenant.share);
  }
  return text;
}

}  // namespace rubato
