// The kinds of things that have ids.
#pragma once

#include "rubato/base/id.h"

namespace rubato {

using JobId = Id<struct JobTag>;
using NodeId = Id<struct NodeTag>;

/// One pool holds all nodes of one GPU type; a job runs in one pool at a time.
using PoolId = Id<struct PoolTag>;

/// One entry of the speed book: what is known about the speed of jobs of one kind.
using SpeedId = Id<struct SpeedTag>;

}  // namespace rubato
