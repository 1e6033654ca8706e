// Hands the GPUs that no plan needs now to jobs, as ElasticFlow's published simulator does.
//
// Source: ElasticFlow artifact, Apache-2.0; behaviour only. Compare
// policy/elasticflow/spare_gpus.h, which follows Algorithm 2 of the paper. What it does otherwise:
//  - The paper takes the job whose GPU time grows least; the artifact sorts the growth the wrong
//    way round and takes the job whose GPU time grows most. Jobs without any GPU come first of all.
//  - The raised job holds its GPUs to the next breakpoint of the free GPUs, not for one slot.
//  - A level is never checked for being faster or for ending earlier.
//  - GPU time is counted to the next breakpoint after the job's end, not to its end.
//  - A job that reached its last level keeps its old place in the order.
#pragma once

#include "rubato/policy/artifact/books.h"
#include "rubato/policy/artifact/filling.h"

namespace rubato::policy::artifact {

/// Raises jobs one level at a time while there are spare GPUs and someone can use them. `free` is
/// what the plans leave over; jobs end up sorted by their last marginal cost, dearest first.
void hand_out(Books& books, const Frame& frame, Steps& free);

}  // namespace rubato::policy::artifact
