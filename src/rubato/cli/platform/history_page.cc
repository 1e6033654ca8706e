#include "rubato/cli/platform/history_page.h"

#include <algorithm>
#include <cstdint>

#include <fmt/core.h>
#include <google/protobuf/util/time_util.h>
#include <nlohmann/json.hpp>

#include "rubato/live/rest/message_json.h"
#include "rubato/wire/history.pb.h"

namespace rubato {
namespace {

constexpr int kPagesMax = 100;        // Of a thousand jobs each.
constexpr int kJobsInDetail = 300;    // The newest: their curves and reasons come along.
constexpr int kEventsInDetail = 400;  // As many as the dashboard shows.
constexpr int kDecisionsMax = 1'000;  // The newest.
constexpr int kMomentsMax = 60;       // Of the past that can be gone back to.
constexpr std::size_t kPastBytesMax = 2'000'000;

/// Asks one thing after the other until one fails.
class AnswerCollector {
 public:
  explicit AnswerCollector(PlatformClient& client) : client_(client) {}

  template <typename T>
  T ask(const std::string& target) {
    T answer;
    if (!failure_) {
      failure_ = client_.get(target, answer);
    }
    return answer;
  }
  /// Keeps the answer as it came, without the query.
  template <typename T>
  void keep(const std::string& target) {
    (void)ask<T>(target);
    if (!failure_) {
      answers_[target.substr(0, target.find('?'))] = client_.json();
    }
  }
  void put(const std::string& path, std::string json) { answers_[path] = std::move(json); }
  [[nodiscard]] std::string kept(const std::string& path) const {
    const auto found = answers_.find(path);
    return found == answers_.end() ? std::string{} : found->second;
  }

  [[nodiscard]] bool has_failed() const { return failure_.has_value(); }
  [[nodiscard]] std::variant<KeptAnswers, CallFailure> result() && {
    if (failure_) {
      return *std::move(failure_);
    }
    return std::move(answers_);
  }

 private:
  PlatformClient& client_;
  KeptAnswers answers_{};
  std::optional<CallFailure> failure_{};
};

// As the server writes it: with every field, also those that are zero.
void put_message(AnswerCollector& collector, const std::string& path,
                 const google::protobuf::Message& message) {
  const auto json = to_json(message);
  collector.put(path, json.ok() ? *json : std::string{});
}

// All of them, the newest first, as one page.
std::vector<std::string> keep_jobs(AnswerCollector& collector) {
  wire::JobList all;
  std::string token;
  for (int page = 0; page < kPagesMax && !collector.has_failed(); ++page) {
    const auto part = collector.ask<wire::JobList>(
        "/v1/jobs?page_size=1000" + (token.empty() ? std::string{} : "&page_token=" + token));
    all.mutable_jobs()->MergeFrom(part.jobs());
    token = part.next_page_token();
    if (token.empty()) {
      break;
    }
  }
  put_message(collector, "/v1/jobs", all);
  std::vector<std::string> newest;
  for (int i = 0; i < all.jobs_size() && i < kJobsInDetail; ++i) {
    newest.push_back(all.jobs(i).id());
  }
  return newest;
}

void keep_events(AnswerCollector& collector) {
  wire::EventList last;
  std::uint64_t since = 0;
  while (!collector.has_failed()) {
    auto part =
        collector.ask<wire::EventList>(fmt::format("/v1/events?since={}&limit=10000", since));
    if (part.events().empty()) {
      break;
    }
    since = part.next_sequence();
    last = std::move(part);
  }
  const int surplus = last.events_size() - kEventsInDetail;
  if (surplus > 0) {
    last.mutable_events()->DeleteSubrange(0, surplus);
  }
  put_message(collector, "/v1/events", last);
}

// Why things were decided, the newest of it. What the scheduler ordered in detail stays behind.
wire::DecisionList keep_decisions(AnswerCollector& collector) {
  auto list =
      collector.ask<wire::DecisionList>(fmt::format("/v1/decisions?limit={}", kDecisionsMax));
  for (wire::DecisionRecord& decision : *list.mutable_decisions()) {
    decision.clear_commands();
  }
  put_message(collector, "/v1/decisions", list);
  return list;
}

// How everything stood after some of the decisions, the oldest first, as one list: so many as there
// is room for, as far apart as can be, and the present.
void keep_past(AnswerCollector& collector) {
  const auto decisions = keep_decisions(collector).decisions();
  collector.keep<wire::PastReply>("/v1/past");
  const std::string present = collector.kept("/v1/past");
  const int room = static_cast<int>(kPastBytesMax / std::max<std::size_t>(present.size(), 1));
  std::string states;
  for (const int place : spread_places(decisions.size(), std::min(room, kMomentsMax))) {
    const auto at = google::protobuf::util::TimeUtil::ToString(decisions[place].at());
    collector.keep<wire::PastReply>("/v1/past?at=" + url_escaped(at));
    states += collector.kept("/v1/past") + ",";
  }
  collector.put("/v1/past", "[" + states + present + "]");
}

// JSON that cannot be taken for the end of the script it stands in.
std::string without_brackets(std::string text) {
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

Status replace_once(std::string& page, std::string_view mark, const std::string& by) {
  const std::size_t at = page.find(mark);
  if (at == std::string::npos) {
    return Error{.message = fmt::format("the dashboard's document lacks {}", mark)};
  }
  page.replace(at, mark.size(), by);
  return ok_status();
}

}  // namespace

std::vector<int> spread_places(int all, int count) {
  std::vector<int> places;
  const int chosen = std::clamp(count, 0, std::max(all, 0));
  for (int i = 0; i < chosen; ++i) {
    places.push_back(chosen == 1 ? all - 1
                                 : static_cast<int>(std::int64_t{i} * (all - 1) / (chosen - 1)));
  }
  return places;
}

std::variant<KeptAnswers, CallFailure> kept_answers(PlatformClient& client) {
  AnswerCollector collector(client);
  collector.keep<wire::VersionReply>("/v1/version");
  collector.keep<wire::OverviewReply>("/v1/overview");
  collector.keep<wire::TimelineReply>("/v1/timeline");
  collector.keep<wire::FutureReply>("/v1/future");
  collector.keep<wire::NodeList>("/v1/nodes");
  collector.keep<wire::TenantList>("/v1/tenants");
  collector.keep<wire::PolicyStatus>("/v1/policy");
  collector.keep<wire::PolicyList>("/v1/policies");
  keep_events(collector);
  keep_past(collector);
  for (const std::string& id : keep_jobs(collector)) {
    collector.keep<wire::JobHistory>(job_target(id, "/history"));
    collector.keep<wire::JobMetricsReply>(job_target(id, "/metrics?points=60"));
    collector.keep<wire::WhyReply>(job_target(id, "/why"));
    collector.keep<wire::BlameReply>(job_target(id, "/blame"));
  }
  return std::move(collector).result();
}

Result<std::string> history_page(const StaticFiles& dashboard, const KeptAnswers& answers) {
  for (const char* const name : {"/", "/app.js", "/app.css"}) {
    if (!dashboard.contains(name)) {
      return Error{.message = "this program was built without the dashboard"};
    }
  }
  nlohmann::ordered_json kept = nlohmann::ordered_json::object();
  for (const auto& [path, json] : answers) {
    kept[path] = nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false);
    if (kept[path].is_discarded()) {
      return Error{.message = fmt::format("{}: the answer is no JSON", path)};
    }
  }
  const std::string& script = dashboard.at("/app.js").bytes;
  if (script.find("</script") != std::string::npos) {
    return Error{.message = "the dashboard's script cannot stand inside a page"};
  }
  std::string page = dashboard.at("/").bytes;
  const auto replace = [&](std::string_view mark, const std::string& by) {
    return replace_once(page, mark, by);
  };
  Status made = replace("    <link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n", "");
  if (made) {
    made = replace("<link rel=\"stylesheet\" href=\"/app.css\">",
                   "<style>" + dashboard.at("/app.css").bytes + "</style>");
  }
  if (made) {
    made =
        replace("<script type=\"module\" src=\"/app.js\"></script>",
                "<script type=\"application/json\" id=\"kept\">" + without_brackets(kept.dump()) +
                    "</script>\n    <script type=\"module\">" + script + "</script>");
  }
  if (!made) {
    return made.error();
  }
  return page;
}

}  // namespace rubato
