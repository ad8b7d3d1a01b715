// A linear layer and the ReLU behind it as one node of the graph. The kernels, their order and so every bit are those of
// `torch.nn.functional.linear` and `relu`, unless our own are used; what goes is the bookkeeping of three nodes and their views.
#include "native.h"
#include "shim.h"
#include "small_linear.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/t.h>
#include <ATen/ops/threshold_backward.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <optional>
#include <string>
#include <utility>

using namespace hookrack;
using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

namespace {

using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

struct LinearBackward : Node {
  SavedVariable input, weight, rectified;
  bool relu = false;

  std::string name() const override { return relu ? "LinearReluBackward" : "LinearBackward"; }

  variable_list apply(variable_list&& grads) override {
    variable_list out(3);
    if (!grads[0].defined()) return out;
    auto grad = std::move(grads[0]);
    const auto x = input.unpack(), w = weight.unpack();
    // Recorded only if the gradients are to be differentiated themselves.
    std::optional<BelowAutograd> quick;
    const bool is_recorded = c10::GradMode::is_enabled();
    if (!is_recorded) quick.emplace();
    const auto y = relu ? rectified.unpack(getptr()) : at::Tensor();
    if (!is_recorded && uses_native_kernels() && grad.scalar_type() == at::kFloat && grad.is_contiguous()) {
      out[2] = native_bias_grad(grad, y);
    } else {
      if (relu) grad = at::threshold_backward(grad, y, 0);
      if (task_should_compute_output(2)) out[2] = at::sum(grad, 0);
    }
    if (task_should_compute_output(0)) out[0] = at::mm(grad, w);
    if (task_should_compute_output(1)) out[1] = at::mm(grad.t(), x);
    return out;
  }

  // `grad` becomes what passes ReLU.
  static at::Tensor native_bias_grad(at::Tensor& grad, const at::Tensor& rectified) {
    auto sums = at::empty({grad.size(1)}, grad.options());
    auto passed = rectified.defined() ? at::empty_like(grad) : grad;
    bias_grads({grad.const_data_ptr<float>(), grad.size(0), grad.size(1)},
               rectified.defined() ? rectified.const_data_ptr<float>() : nullptr,
               rectified.defined() ? passed.mutable_data_ptr<float>() : nullptr, sums.mutable_data_ptr<float>());
    grad = std::move(passed);
    return sums;
  }

  void release_variables() override {
    input.reset_data();
    weight.reset_data();
    rectified.reset_data();
  }
};

// Rows of numbers on the CPU; everything else is left to libtorch. A traced graph must consist of its own operators.
bool is_plain(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  return input.is_cpu() && input.dim() == 2 && input.is_contiguous() && weight.is_contiguous() &&
         input.numel() > 0 && input.size(1) == weight.size(1) &&
         input.scalar_type() == weight.scalar_type() && bias.scalar_type() == weight.scalar_type() &&
         !at::autocast::is_autocast_enabled(at::kCPU) && !torch::jit::tracer::isTracing();
}

at::Tensor product(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias, bool relu) {
  BelowAutograd quick;
  const LinearShape shape{input.size(0), input.size(1), weight.size(0)};
  if (input.scalar_type() == at::kFloat && bias.is_contiguous() && is_small_linear(shape)) {
    auto output = at::empty({shape.rows, shape.outputs}, input.options());
    small_linear(input.const_data_ptr<float>(), weight.const_data_ptr<float>(), bias.const_data_ptr<float>(),
                 output.mutable_data_ptr<float>(), shape, relu);
    return output;
  }
  auto output = at::addmm(bias, input, weight.t());
  if (relu) at::relu_(output);
  return output;
}

at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias, bool relu) {
  if (!is_plain(input, weight, bias)) {
    auto output = at::linear(input, weight, bias);
    return relu ? at::relu(output) : output;
  }
  if (!torch::autograd::compute_requires_grad(input, weight, bias)) {
    return product(input, weight, bias, relu);
  }
  auto node = c10::make_intrusive<LinearBackward>();
  node->set_next_edges(torch::autograd::collect_next_edges(input, weight, bias));
  node->input = SavedVariable(input, false);
  node->weight = SavedVariable(weight, false);
  node->relu = relu;
  auto output = product(input, weight, bias, relu);
  torch::autograd::set_history(output, node);
  if (relu) node->rectified = SavedVariable(output, true);
  return output;
}

}  // namespace

extern "C" {

// `max(input weightᵀ + bias, 0)`, or without the maximum. Weight and bias are floats of one type.
char* hrt_linear(const at::Tensor* input, const at::Tensor* weight, const at::Tensor* bias, bool relu,
                 at::Tensor** out) {
  return guarded([&] { *out = new at::Tensor(linear(*input, *weight, *bias, relu)); });
}

}  // extern "C"
