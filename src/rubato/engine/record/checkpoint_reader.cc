#include <utility>

#include <fmt/core.h>

#include "rubato/engine/record/checkpoint.h"
#include "rubato/engine/record/sealed_text.h"

namespace rubato {
namespace {

/// Takes one line after the other into the contents.
class CheckpointLines {
 public:
  explicit CheckpointLines(CheckpointContents& contents) : contents_(contents) {}

  /// What is wrong with the line; empty if nothing is.
  [[nodiscard]] std::string take(std::string_view word, LineReader& line);

 private:
  [[nodiscard]] bool take_plain(std::string_view word, LineReader& line);
  [[nodiscard]] bool take_learnt(std::string_view word, LineReader& line);
  void take_learner(LineReader& line);

  CheckpointContents& contents_;
  JobGoodput* learner_ = nullptr;  // The last one.
  PoolGoodput* fit_ = nullptr;     // Its last one.
};

// False if the word is none of these.
bool CheckpointLines::take_plain(std::string_view word, LineReader& line) {
  if (word == "engine") {
    head_fields(line, contents_.head);
  } else if (word == "joined") {
    node_fields(line, contents_.joined.emplace_back());
  } else if (word == "kind") {
    kind_fields(line, contents_.kinds.emplace_back());
  } else if (word == "job") {
    state_fields(line, contents_.jobs.emplace_back());
  } else if (word == "quotes") {
    quote_count_fields(line, contents_.quote_count);
  } else if (word == "quote") {
    quote_fields(line, contents_.quotes.emplace_back());
  } else if (word == "refusal") {
    Refusals::Entry& entry = contents_.refusals.emplace_back();
    verdict_fields(line, entry.verdict);
    job_fields(line, entry.job);
  } else if (word == "unserved") {
    line.field("job", contents_.unserved.emplace_back());
  } else if (word == "group") {
    Placement group;
    placement_fields(line, group);
    contents_.groups.emplace(group.pool, std::move(group.ranges));
  } else if (word == "placer") {
    line.field("memory", contents_.placer);
  } else {
    return false;
  }
  return true;
}

void CheckpointLines::take_learner(LineReader& line) {
  LearnerLine given;
  learner_fields(line, given);
  JobGoodput& learner =
      given.is_job ? contents_.goodputs.jobs[given.job] : contents_.goodputs.models[given.model];
  learner.limits = given.limits;
  learner.version = static_cast<long>(given.version);
  learner.noise = given.has_noise ? std::optional(given.noise) : std::nullopt;
  learner_ = &learner;
  fit_ = nullptr;
}

// Likewise, for what was learnt about goodput.
bool CheckpointLines::take_learnt(std::string_view word, LineReader& line) {
  if (word == "learner") {
    take_learner(line);
  } else if (word == "limits" && learner_ != nullptr) {
    LearnerLimits there;
    learner_limits_fields(line, there);
    learner_->limits_there[there.pool] = there.limits;
  } else if (word == "fit" && learner_ != nullptr) {
    LearnerPool here;
    learner_pool_fields(line, here);
    fit_ = &learner_->pools[here.pool];
    fit_->workers_seen = here.workers_seen;
    fit_->model = here.has_model ? std::optional(here.model) : std::nullopt;
  } else if (word == "seen" && fit_ != nullptr) {
    step_fields(line, fit_->seen.emplace_back());
  } else {
    return false;
  }
  return true;
}

std::string CheckpointLines::take(std::string_view word, LineReader& line) {
  if (!take_plain(word, line) && !take_learnt(word, line)) {
    return fmt::format("'{}' cannot stand here", word);
  }
  return line.problem();
}

}  // namespace

Result<CheckpointContents> read_checkpoint(std::string_view text) {
  const auto body = unsealed(kCheckpointFormat, text);
  if (!body) {
    return body.error();
  }
  CheckpointContents contents;
  CheckpointLines lines(contents);
  std::string_view rest = *body;
  for (std::size_t number = 2; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    LineReader line(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const std::string_view word = line.word();
    if (word == "policy") {
      contents.policy = rest;
      return contents;
    }
    if (const std::string problem = lines.take(word, line); !problem.empty()) {
      return bad_input(fmt::format("checkpoint:{}: {}", number, problem));
    }
  }
  return bad_input("checkpoint: it ends before the state of the policy");
}

}  // namespace rubato
