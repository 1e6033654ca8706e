// One job's plan on the GPUs that are left to it, as ElasticFlow's published simulator makes it.
//
// Source: the simulator of the ElasticFlow artifact (github.com/pkusys/ElasticFlow, Apache-2.0);
// behaviour only, written anew. Compare policy/elasticflow/progressive_filling.h, which follows the
// paper. What it does otherwise than the paper's Algorithm 1:
//  - The sum of work starts at zero for every level and counts only the stretch raised so far, but
//    the stretch before it is also given the level below: plans take more than they need.
//  - Work in the last slot counts only up to the deadline, though the slot is reserved whole.
//  - The end is rounded up to whole slots, counted from the breakpoint the last stretch starts at.
//  - If no level is enough, the job takes the top level until its deadline and then, stretch by
//    stretch, the largest level that is free: late jobs are planned, never given up.
//  - The pauses of resizing are ignored.
#pragma once

#include <span>
#include <vector>

#include "rubato/core/scaling_curve.h"
#include "rubato/policy/artifact/steps.h"

namespace rubato::policy::artifact {

/// What must be planned. Borrowed for one call.
struct Demand {
  std::span<const ScalingPoint> levels{};  // Rising; the worker counts it may have.
  double left = 0;                         // Steps still to do; more than zero.
  WholeSeconds deadline = kForever;
  int first = 0;  // If not zero: holds this many GPUs (a level) until the first breakpoint.
};

/// The world a plan is made in.
struct Frame {
  WholeSeconds now = 0;
  WholeSeconds slot = 1;
  int gpus = 0;  // In the cluster.
};

struct Booking {
  Steps steps{};              // Not merged: breakpoints at which nothing changes are kept.
  WholeSeconds end = 0;       // Until when it is reserved: whole slots.
  WholeSeconds real_end = 0;  // When the work is done, in whole seconds.
};

/// Buffers that outlive one call, so that thousands of plans allocate nothing.
struct FillScratch {
  std::vector<int> share{};
  std::vector<int> widest{};
};

/// Plans one job and takes its GPUs out of `free`, whose first step must be `frame.now`. `free` is
/// left unmerged. A job without levels gets no GPUs and never ends.
void fill(const Demand& demand, const Frame& frame, Steps& free, FillScratch& scratch,
          Booking& booking);

}  // namespace rubato::policy::artifact
