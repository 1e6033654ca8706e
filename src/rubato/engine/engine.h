// The scheduler as a pure, deterministic state machine: events in, commands out.
//
// It reads no clock, opens no file and starts no thread. The simulator drives it with virtual time
// and modelled training, the live controller with real time and real workers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/core/event.h"
#include "rubato/engine/answers/explain.h"
#include "rubato/engine/answers/firm_quotes.h"
#include "rubato/engine/answers/quote.h"
#include "rubato/engine/state/command.h"
#include "rubato/engine/state/state.h"

namespace rubato {

/// Makes a policy as it is before the first event. Called again for each copy that a quote asks.
using PolicyMaker = std::function<std::unique_ptr<Policy>()>;
/// Makes an empty placer for these machines. Called again for each copy of an engine, and when a
/// machine joins.
using PlacerMaker = std::function<Result<std::unique_ptr<Placer>>(const Topology&)>;

/// Same construction and same events give the same commands, byte for byte.
class Engine {
 public:
  /// `policy`, and the placer of the options, as their registries spell them; so are the errors.
  static Result<Engine> make(const Topology& topology, SpeedBook speeds, std::string_view policy,
                             const EngineOptions& options);

  /// With a policy that the registry does not know. Where the placer has quotas, make() lets one
  /// copy of the policy decide for each tenant; here the policy has to know them by itself.
  static Engine with(const Topology& topology, SpeedBook speeds, PolicyMaker maker,
                     const EngineOptions& options);

  /// Applies one event; returns what must now be done. Time never runs backwards. Events that tell
  /// nothing new (late reports, second completions) change nothing and are not shown to the policy.
  [[nodiscard]] Commands on(Instant now, const Event& event);
  /// Likewise; to the policy the new node is one that just went down. One that cannot join raises
  /// an alarm and changes nothing.
  [[nodiscard]] Commands on(Instant now, const NodeJoin& join);

  /// What would be answered if this job arrived now; changes nothing. A job without an id, or with
  /// one that is taken, is asked about as the youngest.
  [[nodiscard]] Quote quote(Instant now, const Job& job);
  /// Why a job does not run, or was refused, and what would change that.
  [[nodiscard]] Result<Explanation> why(Instant now, JobId job) const;

  /// An engine that goes on as this one would; it has forgotten refusals.
  [[nodiscard]] Engine fork() const;

  /// All it knows between two events; same state, same text. See checkpoint.h.
  [[nodiscard]] std::string save() const;
  /// Goes on where the engine stood that saved this text. It must be made as that one was and have
  /// seen no event and no question. The error says what is wrong with the text; after one, the
  /// engine is no more use.
  [[nodiscard]] Status load(std::string_view text);

  /// Checks the whole state: shares, GPUs, plans. One sentence per fault; empty if all is well.
  [[nodiscard]] std::vector<std::string> audit() const;

  [[nodiscard]] const EngineState& state() const { return *state_; }
  [[nodiscard]] Traits traits() const { return policy_->traits(); }

 private:
  Engine(std::unique_ptr<EngineState> state, PolicyMaker maker, PlacerMaker placer_maker);

  [[nodiscard]] Status take_in(const NewNode& node);
  Commands handle(Instant now, const Event& event, const FirmQuote& quote = {});
  void decide(const Event& event, Commands& commands);
  void tell_unserved(Commands& commands);
  void carry_out(const Decision& decision, Commands& commands);

  // Quotes that are kept.
  [[nodiscard]] bool keeps_quote_of(const Job& job) const;
  [[nodiscard]] Engine plain_copy(Instant now, std::optional<JobId> dropped_quote = {}) const;
  [[nodiscard]] FirmTerms firm_terms(Instant now, const Job& job) const;
  [[nodiscard]] std::optional<JobId> quote_to_drop_for(Instant now, const Job& job) const;
  [[nodiscard]] Quote firm_quote(Instant now, const Job& job) const;
  [[nodiscard]] Commands arrive_firmly(Instant now, const Arrival& arrival);
  void drop_quote_of(JobId id, Commands& commands);

  std::unique_ptr<EngineState> state_;
  PolicyMaker maker_;
  PlacerMaker placer_maker_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Placer> placer_;
  Refusals refusals_;
};

}  // namespace rubato
