// The cells of LSTM and GRU, which torch computes by operators of their own where there is CUDA.

#include <tuple>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

namespace rubato::runtime::testing {
namespace {

at::Tensor with_bias(const at::Tensor& gates, const c10::optional<at::Tensor>& bias) {
  return bias && bias->defined() ? gates + *bias : gates;
}

at::Tensor through_sigmoid(const at::Tensor& gradient, const at::Tensor& result) {
  return gradient * result * (1 - result);
}

at::Tensor through_tanh(const at::Tensor& gradient, const at::Tensor& result) {
  return gradient * (1 - result * result);
}

at::Tensor bias_gradient(const at::Tensor& gates, bool has_bias) {
  return has_bias ? gates.sum(0) : at::Tensor();
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(
    const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cx,
    const c10::optional<at::Tensor>& input_bias, const c10::optional<at::Tensor>& hidden_bias) {
  const std::vector<at::Tensor> gates =
      (with_bias(input_gates, input_bias) + with_bias(hidden_gates, hidden_bias)).chunk(4, 1);
  const at::Tensor input = gates[0].sigmoid();
  const at::Tensor forget = gates[1].sigmoid();
  const at::Tensor cell = gates[2].tanh();
  const at::Tensor output = gates[3].sigmoid();
  const at::Tensor cy = forget * cx + input * cell;
  return {output * cy.tanh(), cy, at::cat({input, forget, cell, output}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(
    const c10::optional<at::Tensor>& grad_hy, const c10::optional<at::Tensor>& grad_cy,
    const at::Tensor& cx, const at::Tensor& cy, const at::Tensor& workspace, bool has_bias) {
  const std::vector<at::Tensor> gates = workspace.chunk(4, 1);
  const at::Tensor& input = gates[0];
  const at::Tensor& forget = gates[1];
  const at::Tensor& cell = gates[2];
  const at::Tensor& output = gates[3];
  const bool has_hy = grad_hy && grad_hy->defined();
  const bool has_cy = grad_cy && grad_cy->defined();
  if (!has_hy && !has_cy) {
    return {};
  }
  const at::Tensor from_hy = has_hy ? *grad_hy : at::zeros_like(cy);
  const at::Tensor squashed = cy.tanh();
  at::Tensor state = through_tanh(from_hy * output, squashed);
  if (has_cy) {
    state = state + *grad_cy;
  }
  const at::Tensor grad_gates =
      at::cat({through_sigmoid(state * cell, input), through_sigmoid(state * cx, forget),
               through_tanh(state * input, cell), through_sigmoid(from_hy * squashed, output)},
              1);
  return {grad_gates, state * forget, bias_gradient(grad_gates, has_bias)};
}

std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates,
                                            const at::Tensor& hidden_gates, const at::Tensor& hx,
                                            const c10::optional<at::Tensor>& input_bias,
                                            const c10::optional<at::Tensor>& hidden_bias) {
  const std::vector<at::Tensor> input = with_bias(input_gates, input_bias).chunk(3, 1);
  const std::vector<at::Tensor> hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
  const at::Tensor reset = (input[0] + hidden[0]).sigmoid();
  const at::Tensor update = (input[1] + hidden[1]).sigmoid();
  const at::Tensor fresh = (input[2] + reset * hidden[2]).tanh();
  return {fresh + update * (hx - fresh), at::cat({reset, update, fresh, hx, hidden[2]}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> gru_cell_backward(
    const at::Tensor& gradient, const at::Tensor& workspace, bool has_bias) {
  const std::vector<at::Tensor> saved = workspace.chunk(5, 1);
  const at::Tensor& reset = saved[0];
  const at::Tensor& update = saved[1];
  const at::Tensor& fresh = saved[2];
  const at::Tensor grad_fresh = through_tanh(gradient * (1 - update), fresh);
  const at::Tensor grad_update = through_sigmoid(gradient * (saved[3] - fresh), update);
  const at::Tensor grad_reset = through_sigmoid(grad_fresh * saved[4], reset);
  const at::Tensor input = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  const at::Tensor hidden = at::cat({grad_reset, grad_update, grad_fresh * reset}, 1);
  return {input, hidden, gradient * update, bias_gradient(input, has_bias),
          bias_gradient(hidden, has_bias)};
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
  library.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
  library.impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
  library.impl("_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
}

}  // namespace
}  // namespace rubato::runtime::testing
