// One optimizer step of a piece of a parameter: the gradients of the parts are added up, added to
// what the gradient was before, scaled, and used to update the parameter and the optimizer's state,
// in one pass over memory. Every operation is one that torch 1.13 does too, in the same order and
// with the same roundings, so the bits are those of torch's own step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rubato::runtime::split {

/// Floats of a piece at most.
constexpr std::size_t kPieceFloats = 8192;
/// Parts whose gradients are added up.
constexpr std::size_t kPartsMax = 64;
/// Settings of one step: one for each group of parameters, and one for those without an update.
constexpr std::size_t kSettingsMax = 129;

enum class UpdateKind : std::uint32_t { None, Sgd, Adam, AdamW };

/// The numbers of an update, rounded to single precision where torch does that.
struct UpdateSettings {
  UpdateKind kind = UpdateKind::None;
  bool is_nesterov = false;
  float weight_decay = 0;     // Of SGD and Adam: this times the parameter joins the gradient.
  float decay_factor = 1;     // Of AdamW: the parameter is multiplied by this.
  float momentum = 0;         // Of SGD; the momentum's share of what it was before.
  float gradient_weight = 1;  // Of SGD: the gradient's share of the momentum.
  float first_decay = 0;      // Of Adam: beta1, 1 - beta1, beta2, 1 - beta2.
  float first_weight = 1;
  float second_decay = 0;
  float second_weight = 1;
  float correction = 1;  // Of Adam: the square root of the second moment is divided by this.
  float epsilon = 0;
  float rate = 0;  // What the direction is multiplied by before it joins the parameter.
};

/// Settings as scripts give them.
struct SgdOptions {
  double rate = 0;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool is_nesterov = false;
};
struct AdamOptions {
  double rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double weight_decay = 0;
  double step = 1;            // Counts from one.
  bool is_decoupled = false;  // AdamW.
};
[[nodiscard]] UpdateSettings update_settings(const SgdOptions& options);
[[nodiscard]] UpdateSettings update_settings(const AdamOptions& options);

/// What the gradient was before the parts are added: nothing, zero (which is not the same: the sum
/// of zero and a negative zero is positive), or what its memory holds.
enum class GradientBase : std::uint32_t { None, Zero, Value };

/// What is done with all pieces of a step.
struct StepWork {
  std::uint32_t parts = 0;  // 0: the gradient is what its memory holds.
  GradientBase base = GradientBase::Value;
  bool is_scaled = false;
  float scale = 1;
  std::array<const float*, kPartsMax> areas{};  // Gradients of the parts.
  std::array<UpdateSettings, kSettingsMax> settings{};

  bool keeps_gradient = true;  // False: it is used for the update alone.

  /// False: the memory of the gradient stays as it is.
  [[nodiscard]] bool writes_gradient() const { return keeps_gradient && (parts > 0 || is_scaled); }
};

/// Part of a parameter, with its gradient and the optimizer's state of it.
struct StepPiece {
  float* parameter = nullptr;
  float* gradient = nullptr;     // Nothing: the piece is left alone.
  float* first = nullptr;        // Momentum, or first moment.
  float* second = nullptr;       // Second moment.
  std::uint64_t area_begin = 0;  // Where its gradient lies in the areas of the parts, in floats.
  std::uint32_t floats = 0;
  std::uint32_t settings = 0;  // Index into those of the step.
};

/// With fused multiplications and additions, or without; torch has both, for different processors.
enum class StepKind { Plain, Fused };

/// The one that torch is expected to use here. Not `Fused` where the processor cannot do that.
[[nodiscard]] StepKind expected_step_kind();

void run_piece(StepKind kind, const StepWork& work, const StepPiece& piece);

}  // namespace rubato::runtime::split
