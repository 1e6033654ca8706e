#include "rubato/engine/answers/firm_quotes.h"

#include <algorithm>
#include <tuple>
#include <variant>
#include <vector>

#include "rubato/engine/engine.h"
#include "rubato/engine/questions/forecast.h"

namespace rubato {
namespace {

constexpr double kPace = 0.5;  // Of the way from the earliest finish to the deadline.
// Parts of the tolerance that plans may use, late and early; the rest is for reality.
constexpr double kDelay = 0.7;
constexpr double kHurry = 0.2;
constexpr double kYieldShare = 0.05;    // Of all quotes, that newcomers may make yield.
constexpr int kPasses = 4;              // Until quote and outcome agree,
constexpr double kAgree = 0.005;        // to this part of the quoted time.
constexpr std::size_t kTrialsMax = 32;  // Jobs that are asked to yield to one newcomer.

Instant between(Instant from, Instant to, double part) {
  return later(from, from_seconds(part * to_seconds(to - from)));
}

bool promises(const Commands& commands, JobId job) {
  return std::ranges::any_of(commands, [&](const Command& command) {
    const auto* answer = std::get_if<Answer>(&command);
    return answer != nullptr && answer->verdict.job == job &&
           answer->verdict.kind == VerdictKind::Admit && answer->verdict.promised != kNever;
  });
}

}  // namespace

bool Engine::keeps_quote_of(const Job& job) const {
  return state_->firm_quotes > 0 && job.job_class == JobClass::Slo && job.has_deadline();
}

// A copy in which one quote may have been given up, and which takes jobs on as they are.
Engine Engine::plain_copy(Instant now, std::optional<JobId> dropped_quote) const {
  Engine copy = fork();
  copy.state_->firm_quotes = 0;
  copy.state_->now = now;
  if (dropped_quote) {
    Commands commands;
    copy.drop_quote_of(*dropped_quote, commands);
  }
  return copy;
}

// From now on only the owner's deadline is kept for the job.
void Engine::drop_quote_of(JobId id, Commands& commands) {
  JobState& job = state_->jobs.at(id);
  job.job.deadline = job.quote.asked;
  job.promised = job.quote.asked;
  job.quote = {};
  ++state_->quote_count.yielded;
  decide(ProgressReport{.job = id, .done = job.progress.at(state_->now), .workers = job.share},
         commands);
}

// Who has the most time between its quote and its deadline is asked first.
std::optional<JobId> Engine::quote_to_drop_for(Instant now, const Job& job) const {
  const QuoteCount& count = state_->quote_count;
  if (static_cast<double>(count.yielded + 1) > kYieldShare * static_cast<double>(count.given + 1)) {
    return std::nullopt;
  }
  std::vector<std::tuple<Duration, JobId>> candidates;
  state_->jobs.for_each([&](const JobState& each) {
    if (each.quote.is_kept() && each.quote.asked > each.job.deadline) {
      candidates.emplace_back(each.job.deadline - each.quote.asked, each.id());
    }
  });
  std::ranges::sort(candidates);
  candidates.resize(std::min(candidates.size(), kTrialsMax));
  for (const auto& [gain, id] : candidates) {
    if (promises(plain_copy(now, id).handle(now, Arrival{.job = job}), job.id)) {
      return id;
    }
  }
  return std::nullopt;
}

FirmTerms Engine::firm_terms(Instant now, const Job& job) const {
  FirmTerms terms{.deadline = job.deadline};
  if (!promises(plain_copy(now).handle(now, Arrival{.job = job}), job.id)) {
    terms.dropped_quote = quote_to_drop_for(now, job);
    if (!terms.dropped_quote) {
      return terms;
    }
  }
  const Engine here = plain_copy(now, terms.dropped_quote);
  const auto finish_of = [&](const Job& wanted, const FirmQuote& quote) {
    Engine copy = here.fork();
    const bool is_promised = promises(copy.handle(now, Arrival{.job = wanted}, quote), wanted.id);
    return is_promised ? forecast(copy, wanted.id).finish : kNever;
  };
  Instant finish = finish_of(job, {});
  if (finish == kNever) {
    return terms;
  }
  finish = between(finish, std::max(finish, job.deadline), kPace);
  for (int pass = 0; pass < kPasses; ++pass) {
    Job firm = job;
    firm.deadline = std::min(job.deadline, between(now, finish, 1 + kDelay * state_->firm_quotes));
    FirmQuote quote{.finish = finish,
                    .soonest = between(finish, now, kHurry * state_->firm_quotes),
                    .asked = job.deadline};
    const Instant outcome = finish_of(firm, quote);
    if (outcome == kNever) {
      break;
    }
    quote.finish = outcome;
    quote.soonest = between(outcome, now, kHurry * state_->firm_quotes);
    terms.deadline = firm.deadline;
    terms.quote = quote;
    if (outcome >= between(finish, now, kAgree)) {
      break;
    }
    finish = outcome;
  }
  return terms;
}

Commands Engine::arrive_firmly(Instant now, const Arrival& arrival) {
  const FirmTerms terms = firm_terms(now, arrival.job);
  Commands commands;
  if (terms.dropped_quote) {
    state_->now = now;
    drop_quote_of(*terms.dropped_quote, commands);
  }
  Arrival firm = arrival;
  firm.job.deadline = terms.deadline;
  if (terms.quote.is_kept()) {
    ++state_->quote_count.given;
  }
  const Commands answers = handle(now, firm, terms.quote);
  commands.insert(commands.end(), answers.begin(), answers.end());
  return commands;
}

Quote Engine::firm_quote(Instant now, const Job& job) const {
  const FirmTerms terms = firm_terms(now, job);
  Job firm = job;
  firm.deadline = terms.deadline;
  Quote quote = plain_copy(now, terms.dropped_quote).quote(now, firm);
  if (quote.verdict.promised != kNever) {
    quote.verdict.promised = job.deadline;
    quote.verdict.quoted = terms.quote.finish;
  }
  return quote;
}

}  // namespace rubato
