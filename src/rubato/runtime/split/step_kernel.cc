#include "rubato/runtime/split/step_kernel.h"

#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "rubato/base/check.h"

namespace rubato::runtime::split {
namespace {

float rounded(double number) { return static_cast<float>(number); }

/// One float at a time, and every operation rounded on its own.
namespace plain_step {

#define RUBATO_STEP_TARGET
using Vector = float;
constexpr std::size_t kWidth = 1;

inline Vector load(const float* from, std::size_t) { return *from; }
inline void store(Vector value, float* to, std::size_t) { *to = value; }
inline Vector fill(float value) { return value; }
inline Vector add(Vector a, Vector b) { return a + b; }
inline Vector multiply(Vector a, Vector b) { return a * b; }
inline Vector divide(Vector a, Vector b) { return a / b; }
inline Vector root(Vector a) { return std::sqrt(a); }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return a * b + c; }

#include "rubato/runtime/split/step_loops.inc"
#undef RUBATO_STEP_TARGET

}  // namespace plain_step

/// Multiplications and additions rounded once.
namespace fused_step {

#if defined(__x86_64__)
// Everything that is inlined must be compiled for the same processor.
#define RUBATO_STEP_TARGET __attribute__((target("avx2,fma")))
#define RUBATO_STEP_INLINE __attribute__((target("avx2,fma"), always_inline)) inline
using Vector = __m256;
constexpr std::size_t kWidth = 8;

RUBATO_STEP_INLINE Vector load(const float* from, std::size_t count) {
  if (count == kWidth) {
    return _mm256_loadu_ps(from);
  }
  float padded[kWidth] = {};
  std::memcpy(padded, from, count * sizeof(float));
  return _mm256_loadu_ps(padded);
}
RUBATO_STEP_INLINE void store(Vector value, float* to, std::size_t count) {
  if (count == kWidth) {
    _mm256_storeu_ps(to, value);
    return;
  }
  float padded[kWidth];
  _mm256_storeu_ps(padded, value);
  std::memcpy(to, padded, count * sizeof(float));
}
RUBATO_STEP_INLINE Vector fill(float value) { return _mm256_set1_ps(value); }
RUBATO_STEP_INLINE Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
RUBATO_STEP_INLINE Vector multiply(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
RUBATO_STEP_INLINE Vector divide(Vector a, Vector b) { return _mm256_div_ps(a, b); }
RUBATO_STEP_INLINE Vector root(Vector a) { return _mm256_sqrt_ps(a); }
RUBATO_STEP_INLINE Vector multiply_add(Vector a, Vector b, Vector c) {
  return _mm256_fmadd_ps(a, b, c);
}
#undef RUBATO_STEP_INLINE
#else
#define RUBATO_STEP_TARGET
using Vector = float;
constexpr std::size_t kWidth = 1;

inline Vector load(const float* from, std::size_t) { return *from; }
inline void store(Vector value, float* to, std::size_t) { *to = value; }
inline Vector fill(float value) { return value; }
inline Vector add(Vector a, Vector b) { return a + b; }
inline Vector multiply(Vector a, Vector b) { return a * b; }
inline Vector divide(Vector a, Vector b) { return a / b; }
inline Vector root(Vector a) { return std::sqrt(a); }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return std::fma(a, b, c); }
#endif

#include "rubato/runtime/split/step_loops.inc"
#undef RUBATO_STEP_TARGET

}  // namespace fused_step
}  // namespace

UpdateSettings update_settings(const SgdOptions& options) {
  return {.kind = UpdateKind::Sgd,
          .is_nesterov = options.is_nesterov,
          .weight_decay = rounded(options.weight_decay),
          .momentum = rounded(options.momentum),
          .gradient_weight = rounded(1 - options.dampening),
          .rate = rounded(-options.rate)};
}

UpdateSettings update_settings(const AdamOptions& options) {
  const double first_correction = 1 - std::pow(options.beta1, options.step);
  const double second_correction = 1 - std::pow(options.beta2, options.step);
  return {.kind = options.is_decoupled ? UpdateKind::AdamW : UpdateKind::Adam,
          .weight_decay = rounded(options.weight_decay),
          .decay_factor = rounded(1 - options.rate * options.weight_decay),
          .first_decay = rounded(options.beta1),
          .first_weight = rounded(1 - options.beta1),
          .second_decay = rounded(options.beta2),
          .second_weight = rounded(1 - options.beta2),
          .correction = rounded(std::sqrt(second_correction)),
          .epsilon = rounded(options.epsilon),
          .rate = rounded(-(options.rate / first_correction))};
}

StepKind expected_step_kind() {
#if defined(__x86_64__)
  const bool is_fused = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return is_fused ? StepKind::Fused : StepKind::Plain;
#else
  return StepKind::Fused;
#endif
}

void run_piece(StepKind kind, const StepWork& work, const StepPiece& piece) {
  RUBATO_CHECK(piece.floats <= kPieceFloats && piece.settings < kSettingsMax);
  RUBATO_CHECK(work.parts <= kPartsMax);
  const bool is_updated = work.settings[piece.settings].kind != UpdateKind::None;
  if (piece.gradient == nullptr || (!is_updated && !work.writes_gradient())) {
    return;
  }
  if (kind == StepKind::Fused) {
    fused_step::run(work, piece);
  } else {
    plain_step::run(work, piece);
  }
}

}  // namespace rubato::runtime::split
