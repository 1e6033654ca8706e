#include "rubato/cli/platform/cluster_verbs.h"

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/client/scale_flag.h"
#include "rubato/cli/client/verb_answer.h"
#include "rubato/cli/client/what_if_answer.h"
#include "rubato/cli/platform/agent_verb.h"
#include "rubato/cli/platform/dashboard.h"
#include "rubato/cli/platform/history_page.h"
#include "rubato/cli/text/cluster_text.h"
#include "rubato/cli/text/moment_text.h"
#include "rubato/cli/text/wall_clock.h"
#include "rubato/spec/duration_text.h"

namespace rubato {
namespace {

constexpr const char* kAnyGpus = "any";  // Of `queue set --borrow`.
constexpr int kBorrowMax = 1'000'000;

/// What a verb on the platform was asked for; each uses some of it.
struct ClusterFlags {
  ClientFlags client{};
  std::string name{};
  std::optional<int> guarantee{};
  std::optional<std::string> borrow{};
  std::optional<double> budget{};
  std::string at{};
  std::string length{};
  std::string since{};
  std::string html{};
  int add_gpus = 0;
  std::vector<std::string> remove_nodes{};
  std::string policy{};
  std::string scale{};
};

std::string node_target(const std::string& name) { return "/v1/nodes/" + url_escaped(name); }

int list_tenants(const ClusterFlags& flags) {
  return ask_platform<wire::TenantList>("queue", flags.client, {.target = "/v1/tenants"},
                                        tenant_table);
}

// The tenant as it is; a new one has nothing yet.
wire::TenantStatus tenant_named(const wire::TenantList& list, const std::string& name) {
  for (const wire::TenantStatus& tenant : list.tenants()) {
    if (tenant.name() == name) {
      return tenant;
    }
  }
  wire::TenantStatus tenant;
  tenant.set_name(name);
  return tenant;
}

int set_tenant(const ClusterFlags& flags) {
  auto client = PlatformClient::open(flags.client);
  if (!client) {
    return explain_failure("queue", client.error());
  }
  wire::TenantList list;
  if (const auto failure = client->get("/v1/tenants", list)) {
    return explain_failure("queue", *failure);
  }
  const wire::TenantStatus known = tenant_named(list, flags.name);
  wire::TenantStatus wanted;
  wanted.set_name(flags.name);
  wanted.set_guarantee(flags.guarantee.value_or(known.guarantee()));
  if (!flags.borrow && known.has_borrow()) {
    wanted.set_borrow(known.borrow());
  } else if (flags.borrow && *flags.borrow != kAnyGpus) {
    wanted.set_borrow(std::stoi(*flags.borrow, nullptr, 0));
  }
  wanted.set_budget_gpu_hours(flags.budget.value_or(known.budget_gpu_hours()));
  return ask_platform<wire::TenantStatus>("queue", flags.client,
                                          {.method = "PUT",
                                           .target = "/v1/tenants/" + url_escaped(flags.name),
                                           .body = request_json(wanted)},
                                          [](const wire::TenantStatus& tenant) {
                                            wire::TenantList one;
                                            *one.add_tenants() = tenant;
                                            return tenant_table(one);
                                          });
}

int list_nodes(const ClusterFlags& flags) {
  return ask_platform<wire::NodeList>(
      "node", flags.client, {.target = "/v1/nodes"},
      [](const wire::NodeList& list) { return node_table(list, local_wall_clock()); });
}

int change_node(const ClusterFlags& flags, const wire::NodeRequest& request) {
  return ask_platform<wire::NodeStatus>(
      "node", flags.client,
      {.method = "PATCH", .target = node_target(flags.name), .body = request_json(request)},
      [](const wire::NodeStatus& node) {
        wire::NodeList one;
        *one.add_nodes() = node;
        return node_table(one, local_wall_clock());
      });
}

int drain_node(const ClusterFlags& flags) {
  wire::NodeRequest request;
  request.set_drain(true);
  return change_node(flags, request);
}

int resume_node(const ClusterFlags& flags) {
  wire::NodeRequest request;
  request.set_resume(true);
  return change_node(flags, request);
}

int plan_maintenance(const ClusterFlags& flags) {
  const WallClock clock = local_wall_clock();
  const auto from =
      flags.at == "now" ? Result<Instant>(clock.now) : resolve_deadline(flags.at, clock);
  if (!from) {
    return explain_failure("node", bad_input("--at: " + from.error().message));
  }
  const auto length = parse_duration(flags.length);
  if (!length) {
    return explain_failure("node", bad_input("--for: " + length.error().message));
  }
  wire::NodeRequest request;
  *request.mutable_maintenance()->mutable_from() = timestamp_from(*from);
  *request.mutable_maintenance()->mutable_to() = timestamp_from(later(*from, *length));
  return change_node(flags, request);
}

// The whole history as a file, whatever --since says.
int write_history(const ClusterFlags& flags) {
  auto client = PlatformClient::open(flags.client);
  if (!client) {
    return explain_failure("report", client.error());
  }
  auto answers = kept_answers(*client);
  if (const auto* failure = std::get_if<CallFailure>(&answers)) {
    return explain_failure("report", *failure);
  }
  const auto page = history_page(dashboard_files(), std::get<KeptAnswers>(answers));
  if (!page) {
    return explain_failure("report", page.error());
  }
  std::ofstream file(flags.html, std::ios::binary);
  file << *page;
  file.close();
  if (!file) {
    return explain_failure("report", bad_input("--html: cannot write " + flags.html));
  }
  fmt::print("wrote {}\n", flags.html);
  return kExitOk;
}

int show_report(const ClusterFlags& flags) {
  if (!flags.html.empty()) {
    return write_history(flags);
  }
  double seconds = 0;
  if (!flags.since.empty()) {
    const auto length = parse_duration(flags.since);
    if (!length) {
      return explain_failure("report", bad_input("--since: " + length.error().message));
    }
    seconds = to_seconds(*length);
  }
  return ask_platform<wire::ReportReply>(
      "report", flags.client, {.target = fmt::format("/v1/report?since={:.0f}", seconds)},
      [](const wire::ReportReply& report) { return report_text(report, local_wall_clock()); });
}

int play_change(const ClusterFlags& flags) {
  wire::WhatIfRequest request;
  request.set_add_gpus(flags.add_gpus);
  for (const std::string& node : flags.remove_nodes) {
    request.add_remove_nodes(node);
  }
  request.set_policy(flags.policy);
  if (!flags.scale.empty()) {
    const auto scale = parse_scale(flags.scale);
    if (!scale) {
      return explain_failure("what-if", bad_input("--scale: " + scale.error().message));
    }
    *request.mutable_scale() = *scale;
  }
  return ask_what_if("what-if", flags.client, request);
}

int show_policy(const ClusterFlags& flags) {
  return ask_platform<wire::PolicyStatus>("policy", flags.client, {.target = "/v1/policy"},
                                          policy_status_text);
}

int put_policy(const ClusterFlags& flags, const std::string& target) {
  wire::PolicyRequest request;
  request.set_policy(flags.name == "none" ? "" : flags.name);
  return ask_platform<wire::PolicyStatus>(
      "policy", flags.client, {.method = "PUT", .target = target, .body = request_json(request)},
      policy_status_text);
}

int set_live_policy(const ClusterFlags& flags) { return put_policy(flags, "/v1/policy"); }
int set_shadow_policy(const ClusterFlags& flags) { return put_policy(flags, "/v1/policy/shadow"); }

using ClusterVerb = int (*)(const ClusterFlags&);

/// A verb and where its flags are kept.
struct AddedVerb {
  CLI::App* app = nullptr;
  std::shared_ptr<ClusterFlags> flags{};
};

AddedVerb add_cluster_verb(CLI::App& parent, const std::string& name, const std::string& about,
                           int& exit_code, ClusterVerb run) {
  AddedVerb verb{.app = parent.add_subcommand(name, about),
                 .flags = std::make_shared<ClusterFlags>()};
  verb.app->callback([flags = verb.flags, &exit_code, run] { exit_code = run(*flags); });
  return verb;
}

// A verb whose subcommands change things; alone it lists.
CLI::App* add_listing(CLI::App& app, const std::string& name, const std::string& about,
                      int& exit_code, ClusterVerb list) {
  CLI::App* verb = app.add_subcommand(name, about);
  verb->require_subcommand(0, 1);
  const auto flags = std::make_shared<ClusterFlags>();
  add_client_flags(*verb, flags->client);
  verb->callback([verb, flags, &exit_code, list] {
    if (verb->get_subcommands().empty()) {
      exit_code = list(*flags);
    }
  });
  const AddedVerb listing = add_cluster_verb(*verb, "list", "List them", exit_code, list);
  add_client_flags(*listing.app, listing.flags->client);
  return verb;
}

void add_queue(CLI::App& app, int& exit_code) {
  CLI::App* queue =
      add_listing(app, "queue", "Tenants: what they are guaranteed, may borrow and use", exit_code,
                  list_tenants);
  const AddedVerb set = add_cluster_verb(
      *queue, "set", "Make a tenant, or change what it is guaranteed", exit_code, set_tenant);
  set.app->add_option("name", set.flags->name, "The tenant")->required();
  set.app->add_option("--guarantee", set.flags->guarantee, "GPUs it can always have")
      ->check(CLI::NonNegativeNumber);
  set.app
      ->add_option("--borrow", set.flags->borrow,
                   "GPUs it may use beyond, while they are idle; any: no limit")
      ->check(CLI::Range(0, kBorrowMax) | CLI::IsMember({kAnyGpus}));
  set.app->add_option("--budget", set.flags->budget, "GPU-hours in all; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  add_client_flags(*set.app, set.flags->client);
}

void add_node(CLI::App& app, int& exit_code) {
  CLI::App* node = add_listing(app, "node", "Nodes: list, add, drain, resume, maintenance",
                               exit_code, list_nodes);
  add_agent_verb(*node, "add", exit_code);
  const AddedVerb drain = add_cluster_verb(*node, "drain", "Move jobs off a node and give it none",
                                           exit_code, drain_node);
  const AddedVerb resume =
      add_cluster_verb(*node, "resume", "Use a drained node again", exit_code, resume_node);
  const AddedVerb maintenance =
      add_cluster_verb(*node, "maintenance", "Plan a time without a node: jobs leave it before",
                       exit_code, plan_maintenance);
  for (const AddedVerb& verb : {drain, resume, maintenance}) {
    verb.app->add_option("name", verb.flags->name, "The node")->required();
    add_client_flags(*verb.app, verb.flags->client);
  }
  maintenance.app
      ->add_option("--at", maintenance.flags->at, "now, 02:00, 'Sat 02:00', 6h or RFC 3339")
      ->required();
  maintenance.app->add_option("--for", maintenance.flags->length, "Such as 4h")->required();
}

}  // namespace

void add_cluster_verbs(CLI::App& app, int& exit_code) {
  add_queue(app, exit_code);
  add_node(app, exit_code);

  const AddedVerb report = add_cluster_verb(
      app, "report", "Promises kept, GPU-hours useful, lost and idle", exit_code, show_report);
  report.app->add_option("--since", report.flags->since, "Such as 7d; default: from the beginning");
  report.app->add_option("--html", report.flags->html,
                         "Write the history as a page that needs no server");
  add_client_flags(*report.app, report.flags->client);

  const AddedVerb what_if = add_cluster_verb(
      app, "what-if",
      "What would become of the jobs with other nodes, another policy or one job scaled", exit_code,
      play_change);
  what_if.app->add_option("--add-gpus", what_if.flags->add_gpus, "So many more GPUs")
      ->check(CLI::NonNegativeNumber);
  what_if.app->add_option("--remove-node", what_if.flags->remove_nodes, "Without this node")
      ->allow_extra_args(false);
  what_if.app->add_option("--policy", what_if.flags->policy, "Under this policy");
  what_if.app->add_option("--scale", what_if.flags->scale,
                          "With other workers for a job, such as 42=1-8, 42=4 or 42=1,2,4");
  add_client_flags(*what_if.app, what_if.flags->client);
}

void add_live_policy_verbs(CLI::App& policy, int& exit_code) {
  const AddedVerb status = add_cluster_verb(
      policy, "status", "The platform's policy and its shadow", exit_code, show_policy);
  add_client_flags(*status.app, status.flags->client);
  const AddedVerb set = add_cluster_verb(policy, "set", "Let the platform decide by this policy",
                                         exit_code, set_live_policy);
  const AddedVerb shadow = add_cluster_verb(
      policy, "shadow", "Let this policy see all events and decide nothing; none ends it",
      exit_code, set_shadow_policy);
  for (const AddedVerb& verb : {set, shadow}) {
    verb.app->add_option("name", verb.flags->name, "A name of `rubato policy list`")->required();
    add_client_flags(*verb.app, verb.flags->client);
  }
}

}  // namespace rubato
