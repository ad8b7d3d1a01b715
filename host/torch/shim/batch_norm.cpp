// Batch normalization in training, a sum and the ReLU behind it as one node of the graph. libtorch's operators walk through the images
// nine times in both passes, and write them five times; here it is five and two.
#include "norm.h"
#include "norm_kernels.h"
#include "shim.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/relu.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <cmath>
#include <utility>

using namespace hookrack;
using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

namespace {

using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

constexpr auto LAST = at::MemoryFormat::ChannelsLast;

Pixels pixels_of(const at::Tensor& images) {
  const int64_t channels = images.size(1);
  return {images.numel() / channels, channels};
}

struct BatchNormBackward : Node {
  SavedVariable input, weight;
  // Of the batch; without a gradient of their own.
  at::Tensor mean, inverse, passed;
  double eps = 0;
  bool relu = false;

  std::string name() const override { return relu ? "BatchNormReluBackward" : "BatchNormBackward"; }

  // The gradients of input, other, weight and bias.
  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined()) return variable_list(4);
    TORCH_CHECK(mean.defined(), torch::autograd::ERR_BACKWARD_TWICE);
    auto grad = std::move(grads[0]);
    if (c10::GradMode::is_enabled()) return recorded(grad);
    BelowAutograd quick;
    return fused(std::move(grad));
  }

  variable_list fused(at::Tensor&& given) {
    const auto x = input.unpack(), w = weight.unpack();
    const auto grad = given.contiguous(LAST);
    // Whether nobody else reads its memory.
    const bool is_ours = !grad.is_same(given) || (given.use_count() == 2 && given.storage().use_count() == 1);
    const auto pixels = pixels_of(x);
    const PassedGrad flow{grad.const_data_ptr<float>(), relu ? passed.const_data_ptr<uint16_t>() : nullptr};
    const auto* numbers = x.const_data_ptr<float>();
    auto of_weight = at::empty_like(mean), of_bias = at::empty_like(mean);
    auto *sums = of_bias.mutable_data_ptr<float>(), *products = of_weight.mutable_data_ptr<float>();
    grad_sums(pixels, flow, numbers, mean.const_data_ptr<float>(), sums, products);
    const auto plane = at::empty({3, pixels.channels}, mean.options());
    auto* grad_slope = plane.mutable_data_ptr<float>();
    auto *input_slope = grad_slope + pixels.channels, *offset = input_slope + pixels.channels;
    for (int64_t c = 0; c < pixels.channels; ++c) {
      const double scale = inverse.const_data_ptr<float>()[c], slope = scale * w.const_data_ptr<float>()[c];
      const double share = slope / static_cast<double>(pixels.count);
      grad_slope[c] = static_cast<float>(slope);
      input_slope[c] = static_cast<float>(-share * scale * scale * products[c]);
      offset[c] = static_cast<float>(-share * sums[c]);
      products[c] *= static_cast<float>(scale);
    }
    const bool has_other = task_should_compute_output(1);
    const auto fresh = is_ours ? grad : at::empty_like(x, LAST);
    const auto of_other = has_other ? fresh : at::Tensor(), of_input = has_other ? at::empty_like(x, LAST) : fresh;
    input_grads(pixels, flow, {grad_slope, mean.const_data_ptr<float>(), input_slope, offset}, numbers,
                of_input.mutable_data_ptr<float>(), has_other ? of_other.mutable_data_ptr<float>() : nullptr);
    return {of_input, of_other, of_weight, of_bias};
  }

  // By libtorch's own operators, for gradients that are differentiated themselves.
  variable_list recorded(at::Tensor grad) {
    if (relu) grad = at::mul(grad, passes());
    auto [of_input, of_weight, of_bias] = at::native_batch_norm_backward(
        grad, input.unpack(), weight.unpack(), {}, {}, mean, inverse, /*train=*/true, eps, {true, true, true});
    return {of_input, task_should_compute_output(1) ? grad : at::Tensor(), of_weight, of_bias};
  }

  // 1 for each number that passed the ReLU, and 0 for the others.
  at::Tensor passes() const {
    auto ones = at::empty(input.unpack().sizes(), mean.options().memory_format(LAST));
    const auto pixels = pixels_of(ones);
    const auto* words = passed.const_data_ptr<uint16_t>();
    auto* one = ones.mutable_data_ptr<float>();
    for (int64_t i = 0; i < ones.numel(); ++i) {
      const int64_t channel = i % pixels.channels, word = i / pixels.channels * pixels.vectors() + channel / LANES;
      one[i] = static_cast<float>(words[word] >> channel % LANES & 1);
    }
    return ones;
  }

  void release_variables() override {
    input.reset_data();
    weight.reset_data();
    mean.reset();
    passed.reset();
  }
};

// Floats in channels_last, in a process that uses our kernels. A traced graph must consist of libtorch's own operators.
bool is_plain(const at::Tensor& input, const at::Tensor* other, const Norm& norm) {
  const auto is_image = [&](const at::Tensor& it) {
    return it.is_cpu() && it.scalar_type() == at::kFloat && it.sizes() == input.sizes() && it.is_contiguous(LAST);
  };
  const auto is_line = [&](const at::Tensor* it) {
    return it->scalar_type() == at::kFloat && it->is_contiguous() && it->numel() == input.size(1);
  };
  return has_norm_kernels() && input.dim() == 4 && input.numel() > input.size(1) && is_image(input) &&
         (!other || is_image(*other)) && is_line(norm.weight) && is_line(norm.bias) && is_line(norm.running_mean) &&
         is_line(norm.running_var) && !torch::jit::tracer::isTracing();
}

at::Tensor by_libtorch(const at::Tensor& input, const at::Tensor* other, const Norm& norm, bool relu) {
  auto output = at::batch_norm(input, *norm.weight, *norm.bias, *norm.running_mean, *norm.running_var, /*training=*/true,
                               norm.momentum, norm.eps, /*cudnn_enabled=*/true);
  // In place: the norm does not need its own output for the gradient.
  if (other) output.add_(*other);
  if (relu) output.relu_();
  return output;
}

// Moves the running statistics to those of the batch by the momentum.
void follow(const Norm& norm, const Pixels& pixels, const float* mean, const float* var) {
  auto *means = norm.running_mean->mutable_data_ptr<float>(), *vars = norm.running_var->mutable_data_ptr<float>();
  const double count = static_cast<double>(pixels.count), kept = 1 - norm.momentum;
  for (int64_t c = 0; c < pixels.channels; ++c) {
    means[c] = static_cast<float>(kept * means[c] + norm.momentum * mean[c]);
    vars[c] = static_cast<float>(kept * vars[c] + norm.momentum * var[c] * count / (count - 1));
  }
}

at::Tensor batch_norm(const at::Tensor& input, const at::Tensor* other, const Norm& norm, bool relu) {
  if (!is_plain(input, other, norm)) return by_libtorch(input, other, norm, relu);
  const auto none = at::Tensor();
  c10::intrusive_ptr<BatchNormBackward> node;
  if (torch::autograd::compute_requires_grad(input, other ? *other : none, *norm.weight, *norm.bias)) {
    node = c10::make_intrusive<BatchNormBackward>();
    node->set_next_edges(torch::autograd::collect_next_edges(input, other ? *other : none, *norm.weight, *norm.bias));
    node->input = SavedVariable(input, false);
    node->weight = SavedVariable(*norm.weight, false);
    node->eps = norm.eps;
    node->relu = relu;
  }
  const auto pixels = pixels_of(input);
  at::Tensor output, mean, inverse, passed;
  {
    BelowAutograd quick;
    const auto options = norm.running_mean->options();
    mean = at::empty({pixels.channels}, options);
    inverse = at::empty({pixels.channels}, options);
    auto *means = mean.mutable_data_ptr<float>(), *scales = inverse.mutable_data_ptr<float>();
    const auto* numbers = input.const_data_ptr<float>();
    channel_moments(pixels, numbers, means, scales);
    follow(norm, pixels, means, scales);
    const auto line = at::empty({2, pixels.channels}, options);
    auto *slope = line.mutable_data_ptr<float>(), *offset = slope + pixels.channels;
    for (int64_t c = 0; c < pixels.channels; ++c) {
      scales[c] = static_cast<float>(1 / std::sqrt(static_cast<double>(scales[c]) + norm.eps));
      slope[c] = scales[c] * norm.weight->const_data_ptr<float>()[c];
      offset[c] = norm.bias->const_data_ptr<float>()[c] - means[c] * slope[c];
    }
    output = at::empty_like(input, LAST);
    if (relu) passed = at::empty({pixels.count * pixels.vectors()}, options.dtype(at::kUInt16));
    normalize(pixels, {slope, offset}, numbers, other ? other->const_data_ptr<float>() : nullptr,
              output.mutable_data_ptr<float>(), relu ? passed.mutable_data_ptr<uint16_t>() : nullptr);
  }
  if (!node) return output;
  node->mean = std::move(mean);
  node->inverse = std::move(inverse);
  node->passed = std::move(passed);
  torch::autograd::set_history(output, node);
  return output;
}

}  // namespace

extern "C" {

// Normalizes a batch by its own mean and variance and moves the running ones; then adds `other`, unless it is null, and applies ReLU if asked.
char* hrt_batch_norm(const at::Tensor* input, const at::Tensor* other, const Norm* norm, bool relu, at::Tensor** out) {
  return guarded([&] { *out = new at::Tensor(batch_norm(*input, other, *norm, relu)); });
}

}  // extern "C"
