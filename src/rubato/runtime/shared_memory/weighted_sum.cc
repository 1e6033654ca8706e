#include "rubato/runtime/shared_memory/weighted_sum.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "rubato/base/check.h"

// Everything that is inlined into a function for a certain processor must be inlined in full, or
// it would be compiled for the common one.
#define RUBATO_INLINE inline __attribute__((always_inline))

namespace rubato {
namespace {

/// Eight floats that are worked on at once; on a processor without such registers, the compiler
/// makes several of them. Lane i of a run holds the floats whose index is i modulo eight.
using Lanes = float __attribute__((vector_size(32), aligned(4), may_alias));

constexpr std::size_t kLanes = 8;
// What one block touches fits in the nearest cache.
constexpr std::size_t kBlockFloats = 4096;
// Floats whose squares are added up in single precision before they go to a double.
constexpr std::size_t kSquareFloats = 512;
// Most sources that are added up without scratch memory, and most destinations written at once.
constexpr std::size_t kSourcesAtOnce = 8;
constexpr std::size_t kDestinationsAtOnce = 2;

/// One call of the innermost loop.
struct SumCall {
  const float* const* sources = nullptr;
  const float* weights = nullptr;
  float* const* destinations = nullptr;
  std::size_t source_begin = 0;
  std::size_t destination_begin = 0;
  std::size_t floats = 0;
  double* squares = nullptr;  // Added to: one for each source, then that of the sum.
};

/// Sources in the left branch of a tree: the largest power of two below their number.
constexpr std::size_t left_of(std::size_t sources) {
  std::size_t left = 1;
  while (left * 2 < sources) {
    left *= 2;
  }
  return left;
}

RUBATO_INLINE void load(const float* from, Lanes& to) {
  to = *static_cast<const Lanes*>(static_cast<const void*>(from));
}

RUBATO_INLINE void store(const Lanes& from, float* to) {
  *static_cast<Lanes*>(static_cast<void*>(to)) = from;
}

/// The innermost loop for a fixed number of sources and destinations, all kept in registers.
template <std::size_t Sources, std::size_t Destinations, bool HasSquares>
struct SumLoop {
  std::array<const float*, Sources> sources{};
  std::array<float, Sources> weights{};
  std::array<float*, Destinations> destinations{};
  Lanes squares[Sources + 1] = {};  // No std::array: its argument would lose the alignment.

  RUBATO_INLINE explicit SumLoop(const SumCall& call) {
    for (std::size_t i = 0; i < Sources; ++i) {
      sources[i] = call.sources[i] + call.source_begin;
      weights[i] = call.weights[i];
    }
    for (std::size_t i = 0; i < Destinations; ++i) {
      destinations[i] = call.destinations[i] + call.destination_begin;
    }
  }

  /// The tree over the sources from First on.
  template <std::size_t First, std::size_t Count>
  RUBATO_INLINE void add_up(std::size_t at, Lanes& sum) {
    if constexpr (Count == 1) {
      load(sources[First] + at, sum);
      if constexpr (HasSquares) {
        squares[First] += sum * sum;
      }
      sum *= weights[First];
    } else {
      constexpr std::size_t kLeft = left_of(Count);
      Lanes right;
      add_up<First, kLeft>(at, sum);
      add_up<First + kLeft, Count - kLeft>(at, right);
      sum += right;
    }
  }

  RUBATO_INLINE void step(std::size_t at) {
    Lanes sum;
    add_up<0, Sources>(at, sum);
    if constexpr (HasSquares) {
      squares[Sources] += sum * sum;
    }
    store(sum, destinations[0] + at);
    if constexpr (Destinations == 2) {
      store(sum, destinations[1] + at);
    }
  }

  /// The last few floats: what a whole step would do, on copies with zeros behind.
  RUBATO_INLINE void last_step(std::size_t at, std::size_t floats) {
    const auto all_sources = sources;
    const auto all_destinations = destinations;
    std::array<std::array<float, kLanes>, Sources> padded{};
    std::array<float, kLanes> sum{};
    for (std::size_t i = 0; i < Sources; ++i) {
      std::memcpy(padded[i].data(), all_sources[i] + at, floats * sizeof(float));
      sources[i] = padded[i].data();
    }
    destinations.fill(sum.data());
    step(0);
    sources = all_sources;
    destinations = all_destinations;
    for (float* const destination : destinations) {
      std::memcpy(destination + at, sum.data(), floats * sizeof(float));
    }
  }

  template <std::size_t... Index>
  RUBATO_INLINE void hand_over(double* to, std::index_sequence<Index...>) {
    (hand_over(squares[Index], to[Index]), ...);
  }

  static RUBATO_INLINE void hand_over(Lanes& lanes, double& to) {
    to += ((static_cast<double>(lanes[0]) + static_cast<double>(lanes[1])) +
           (static_cast<double>(lanes[2]) + static_cast<double>(lanes[3]))) +
          ((static_cast<double>(lanes[4]) + static_cast<double>(lanes[5])) +
           (static_cast<double>(lanes[6]) + static_cast<double>(lanes[7])));
    lanes = Lanes{};
  }

  RUBATO_INLINE void run(std::size_t floats, double* to) {
    for (std::size_t begin = 0; begin < floats; begin += kSquareFloats) {
      const std::size_t end = std::min(floats, begin + kSquareFloats);
      std::size_t at = begin;
      for (; at + kLanes <= end; at += kLanes) {
        step(at);
      }
      if (at < end) {
        last_step(at, end - at);
      }
      if constexpr (HasSquares) {
        hand_over(to, std::make_index_sequence<Sources + 1>{});
      }
    }
  }
};

template <std::size_t Sources, std::size_t Destinations, bool HasSquares>
void sum_portable(const SumCall& call) {
  SumLoop<Sources, Destinations, HasSquares>(call).run(call.floats, call.squares);
}

#if defined(__x86_64__)
template <std::size_t Sources, std::size_t Destinations, bool HasSquares>
__attribute__((target("avx2"))) void sum_avx2(const SumCall& call) {
  SumLoop<Sources, Destinations, HasSquares>(call).run(call.floats, call.squares);
}
#endif

using SumFunction = void (*)(const SumCall&);

/// Loops by number of sources less one.
using SumFunctions = std::array<SumFunction, kSourcesAtOnce>;

template <std::size_t Destinations, bool HasSquares, std::size_t... Index>
SumFunction pick(SumKind kind, std::size_t sources, std::index_sequence<Index...>) {
#if defined(__x86_64__)
  if (kind == SumKind::Avx2) {
    constexpr SumFunctions kAvx2{sum_avx2<Index + 1, Destinations, HasSquares>...};
    return kAvx2[sources - 1];
  }
#endif
  constexpr SumFunctions kPortable{sum_portable<Index + 1, Destinations, HasSquares>...};
  return kPortable[sources - 1];
}

/// Runs the loop that fits.
void run_loop(SumKind kind, std::size_t sources, std::size_t destinations, const SumCall& call) {
  constexpr auto kAll = std::make_index_sequence<kSourcesAtOnce>{};
  const bool has_squares = call.squares != nullptr;
  SumFunction loop = nullptr;
  if (destinations == 1) {
    loop = has_squares ? pick<1, true>(kind, sources, kAll) : pick<1, false>(kind, sources, kAll);
  } else {
    loop = has_squares ? pick<2, true>(kind, sources, kAll) : pick<2, false>(kind, sources, kAll);
  }
  loop(call);
}

}  // namespace

SumKind quickest_sum_kind() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) {
    return SumKind::Avx2;
  }
#endif
  return SumKind::Portable;
}

WeightedSum::WeightedSum(SumKind kind) : kind_(kind) {}

void WeightedSum::run(const SumRequest& request, std::size_t begin, std::size_t end) {
  RUBATO_CHECK(!request.sources.empty() && !request.destinations.empty());
  RUBATO_CHECK(request.weights.size() == request.sources.size());
  RUBATO_CHECK(request.squares.empty() || request.squares.size() == request.sources.size() + 1);
  std::ranges::fill(request.squares, 0.0);
  const bool is_measured = !request.squares.empty();
  const std::size_t middle = is_measured ? std::clamp(request.measured_end, begin, end) : end;
  run_blocks(request, begin, middle);
  SumRequest rest = request;
  rest.squares = {};
  run_blocks(rest, middle, end);
}

void WeightedSum::run_blocks(const SumRequest& request, std::size_t begin, std::size_t end) {
  for (; begin < end; begin += kBlockFloats) {
    run_block(request, begin, std::min(kBlockFloats, end - begin));
  }
}

void WeightedSum::run_block(const SumRequest& request, std::size_t begin, std::size_t floats) {
  const std::size_t at_once = std::min(request.destinations.size(), kDestinationsAtOnce);
  if (request.sources.size() <= kSourcesAtOnce) {
    run_loop(kind_, request.sources.size(), at_once,
             {.sources = request.sources.data(),
              .weights = request.weights.data(),
              .destinations = request.destinations.data(),
              .source_begin = begin,
              .destination_begin = begin,
              .floats = floats,
              .squares = request.squares.empty() ? nullptr : request.squares.data()});
  } else {
    // The sum of many sources is made aside, because the first of them may be destinations too.
    add_up(request, begin, floats, /*depth=*/0);
    const float* const aside = scratch(0);
    const float one = 1;
    std::array<double, 2> squares{};
    run_loop(kind_, 1, at_once,
             {.sources = &aside,
              .weights = &one,
              .destinations = request.destinations.data(),
              .destination_begin = begin,
              .floats = floats,
              .squares = request.squares.empty() ? nullptr : squares.data()});
    if (!request.squares.empty()) {
      request.squares.back() += squares.back();
    }
  }
  for (std::size_t i = kDestinationsAtOnce; i < request.destinations.size(); ++i) {
    std::memcpy(request.destinations[i] + begin, request.destinations[0] + begin,
                floats * sizeof(float));
  }
}

/// Leaves the sum of the sources in the scratch block of this depth, and adds to their squares.
void WeightedSum::add_up(const SumRequest& part, std::size_t begin, std::size_t floats,
                         std::size_t depth) {
  const std::size_t sources = part.sources.size();
  if (sources <= kSourcesAtOnce) {
    std::array<double, kSourcesAtOnce + 1> squares{};
    float* const here = scratch(depth);
    run_loop(kind_, sources, 1,
             {.sources = part.sources.data(),
              .weights = part.weights.data(),
              .destinations = &here,
              .source_begin = begin,
              .floats = floats,
              .squares = part.squares.empty() ? nullptr : squares.data()});
    for (std::size_t i = 0; i < sources && !part.squares.empty(); ++i) {
      part.squares[i] += squares[i];
    }
    return;
  }
  const std::size_t left = left_of(sources);
  const auto branch = [&part](std::size_t first, std::size_t count) {
    return SumRequest{
        .sources = part.sources.subspan(first, count),
        .weights = part.weights.subspan(first, count),
        .squares = part.squares.empty() ? part.squares : part.squares.subspan(first, count)};
  };
  add_up(branch(0, left), begin, floats, depth);
  add_up(branch(left, sources - left), begin, floats, depth + 1);
  float* const sum = scratch(depth);
  const float* const right = scratch(depth + 1);
  for (std::size_t i = 0; i < floats; ++i) {
    sum[i] += right[i];
  }
}

float* WeightedSum::scratch(std::size_t depth) {
  // The depth grows with the logarithm of the number of sources; the first sum pays for it.
  const std::size_t floats = (depth + 1) * kBlockFloats;
  if (scratch_.size() < floats) {
    scratch_.resize(floats);
  }
  return scratch_.data() + depth * kBlockFloats;
}

}  // namespace rubato
