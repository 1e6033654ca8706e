// Where the GPU time of the whole cluster went.
#pragma once

#include "rubato/base/time.h"

namespace rubato {

/// Integrals over time of what the last call of advance() said.
struct UsageSums {
  Instant since{};
  double useful = 0;  // GPU seconds of workers that trained.
  double lost = 0;    // Of slots that a job held without training.
  double idle = 0;

  /// Until `now` so many slots were up, held by jobs, and training.
  void advance(Instant now, int up, int held, int training) {
    if (since != Instant{} && now > since) {
      const double seconds = to_seconds(now - since);
      useful += seconds * training;
      lost += seconds * (held > training ? held - training : 0);
      idle += seconds * (up > held ? up - held : 0);
    }
    since = now;
  }
};

}  // namespace rubato
