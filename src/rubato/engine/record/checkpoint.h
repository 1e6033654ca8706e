// All that an engine knows between two events, as text: what a restarted controller begins with
// instead of its whole journal.
//
//   rubato-checkpoint/1 bytes=5417 sum=9f3c1a...      (sealed_text.h)
//   engine gpus=16 nodes=4 now=1000000 ...
//   joined gpus=8 gpu_type=A100 region=               nodes that came later, in their order
//   kind model=net batch=64 ...                       speed book, in the order of its entries
//   job class_now=slo ... id=1 ...                    active jobs, by id
//   quotes given=7 yielded=1                          if some were: firm_quotes.h
//   quote job=1 finish=2000000 ...
//   refusal job=2 kind=refuse ... id=2 ...            what `why` still answers about, by id
//   unserved job=1
//   group pool=0 gpus=0+4                             memory of the artifact's accounting
//   learner is_job=yes ...                            goodput, with its `limits`, `fit` and `seen`
//   placer memory=...
//   policy                                            its own text fills the rest
//
// What the engine was made of (cluster, speeds, options, policy) is not part of it: that is the
// journal's header. What follows from the rest (GPUs in use, which are up) is not written either.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/engine/answers/explain.h"
#include "rubato/engine/record/checkpoint_fields.h"
#include "rubato/engine/state/artifact_memory.h"
#include "rubato/engine/state/state.h"

namespace rubato {

inline constexpr std::string_view kCheckpointFormat = "rubato-checkpoint/1";

/// What the text says about an engine, before it is put into one. `policy` borrows the text.
struct CheckpointContents {
  CheckpointHead head{};
  std::vector<NewNode> joined{};
  std::vector<Job> kinds{};
  std::vector<JobState> jobs{};
  QuoteCount quote_count{};
  std::vector<QuoteLine> quotes{};
  std::vector<Refusals::Entry> refusals{};
  std::vector<JobId> unserved{};
  GpuGroups groups{};
  GoodputBook::Contents goodputs{};
  std::vector<std::int64_t> placer{};
  std::string_view policy{};
};

/// The parts of an engine that are written. Borrowed for one call.
struct CheckpointParts {
  const EngineState& state;
  const Refusals& refusals;
  const Placer& placer;
  const Policy& policy;
};

[[nodiscard]] std::string checkpoint_text(const CheckpointParts& parts);

/// The error names the line. Numbers are as they were written; whether they fit an engine is not
/// looked at.
[[nodiscard]] Result<CheckpointContents> read_checkpoint(std::string_view text);

}  // namespace rubato
