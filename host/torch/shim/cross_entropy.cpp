// Cross entropy with class numbers as one node of the graph, in AVX-512: libtorch takes four kernels and two nodes, which walk rows of
// a few classes one by one.
#include "native.h"
#include "shim.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace hookrack;
using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

#ifdef HAS_NATIVE_KERNELS
// libtorch has Sleef; not every build of it exports this.
extern "C" __attribute__((weak)) __m512 Sleef_expf16_u10(__m512);
#endif

namespace {

using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

struct Batch {
  const int64_t* labels;
  int64_t rows, classes, ignored;

  bool counts(int64_t row) const { return labels[row] != ignored; }
};

#ifdef HAS_NATIVE_KERNELS

constexpr int64_t LANES = 16;

AVX512 inline __mmask16 lanes(int64_t from, int64_t classes) {
  return static_cast<__mmask16>((1U << std::min(LANES, classes - from)) - 1);
}

// Writes the softmax of a row, and returns the logarithm of the sum of the exponentials.
AVX512 double softmax(const float* scores, float* shares, int64_t classes) {
  const __m512 lowest = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  __m512 largest = lowest;
  for (int64_t k = 0; k < classes; k += LANES) {
    largest = _mm512_max_ps(largest, _mm512_mask_loadu_ps(lowest, lanes(k, classes), scores + k));
  }
  const float top = _mm512_reduce_max_ps(largest);
  __m512 sums = _mm512_setzero_ps();
  for (int64_t k = 0; k < classes; k += LANES) {
    const auto mask = lanes(k, classes);
    const __m512 shifted = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, scores + k), _mm512_set1_ps(top));
    const __m512 exp = _mm512_maskz_mov_ps(mask, Sleef_expf16_u10(shifted));
    _mm512_mask_storeu_ps(shares + k, mask, exp);
    sums = _mm512_add_ps(sums, exp);
  }
  const float sum = _mm512_reduce_add_ps(sums);
  const __m512 scale = _mm512_set1_ps(1.0F / sum);
  for (int64_t k = 0; k < classes; k += LANES) {
    const auto mask = lanes(k, classes);
    _mm512_mask_storeu_ps(shares + k, mask, _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, shares + k), scale));
  }
  return static_cast<double>(top) + std::log(static_cast<double>(sum));
}

AVX512 void scale_row(const float* shares, float* grad, int64_t classes, float factor) {
  for (int64_t k = 0; k < classes; k += LANES) {
    const auto mask = lanes(k, classes);
    const __m512 product = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, shares + k), _mm512_set1_ps(factor));
    _mm512_mask_storeu_ps(grad + k, mask, product);
  }
}

bool is_available() { return Sleef_expf16_u10 != nullptr; }

#else

double softmax(const float*, float*, int64_t) { return 0; }
void scale_row(const float*, float*, int64_t, float) {}
bool is_available() { return false; }

#endif

// The mean of the losses, and how many labels count.
std::pair<float, int64_t> mean_loss(const float* scores, float* shares, const Batch& batch) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto* own = scores + row * batch.classes;
    const auto log_sum = softmax(own, shares + row * batch.classes, batch.classes);
    if (!batch.counts(row)) continue;
    sum += log_sum - static_cast<double>(own[batch.labels[row]]);
    count += 1;
  }
  return {static_cast<float>(sum / static_cast<double>(count)), count};
}

void score_grads(const float* shares, float* grad, const Batch& batch, float factor) {
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto start = row * batch.classes;
    scale_row(shares + start, grad + start, batch.classes, batch.counts(row) ? factor : 0.0F);
    if (batch.counts(row)) grad[start + batch.labels[row]] -= factor;
  }
}

struct CrossEntropyBackward : Node {
  SavedVariable scores, labels, shares;
  int64_t ignored = 0, count = 0;

  std::string name() const override { return "CrossEntropyBackward"; }

  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined()) return variable_list(1);
    const auto label = labels.unpack();
    if (c10::GradMode::is_enabled()) return {recorded(grads[0], scores.unpack(), label)};
    BelowAutograd quick;
    const auto share = shares.unpack();
    auto grad = at::empty_like(share);
    const Batch batch{label.const_data_ptr<int64_t>(), share.size(0), share.size(1), ignored};
    score_grads(share.const_data_ptr<float>(), grad.mutable_data_ptr<float>(), batch,
                grads[0].item<float>() / static_cast<float>(count));
    return {grad};
  }

  // The same in operators that are recorded, for gradients that are differentiated themselves.
  at::Tensor recorded(const at::Tensor& grad, const at::Tensor& score, const at::Tensor& label) const {
    const auto share = at::softmax(score, 1), kept = label.ne(ignored).unsqueeze(1);
    const auto target = at::zeros_like(share).scatter(1, label.clamp_min(0).unsqueeze(1), 1);
    return (share - target) * kept * (grad / static_cast<double>(count));
  }

  void release_variables() override {
    scores.reset_data();
    labels.reset_data();
    shares.reset_data();
  }
};

// Rows of floats with one label each, in a process that uses our kernels. Labels that are no class are left to libtorch, which says so.
bool is_plain(const at::Tensor& scores, const at::Tensor& labels, int64_t ignored) {
  if (!uses_native_kernels() || !is_available() || !scores.is_cpu() || !labels.is_cpu() || scores.dim() != 2 ||
      labels.dim() != 1 || scores.size(0) != labels.size(0) || scores.numel() == 0 ||
      scores.scalar_type() != at::kFloat || labels.scalar_type() != at::kLong || !scores.is_contiguous() ||
      !labels.is_contiguous() || at::autocast::is_autocast_enabled(at::kCPU) || torch::jit::tracer::isTracing()) {
    return false;
  }
  const auto* label = labels.const_data_ptr<int64_t>();
  return std::all_of(label, label + labels.size(0),
                     [&](int64_t it) { return it == ignored || (it >= 0 && it < scores.size(1)); });
}

at::Tensor cross_entropy(const at::Tensor& scores, const at::Tensor& labels, int64_t ignored) {
  if (!is_plain(scores, labels, ignored)) {
    return at::cross_entropy_loss(scores, labels, {}, at::Reduction::Mean, ignored, 0.0);
  }
  c10::intrusive_ptr<CrossEntropyBackward> node;
  if (torch::autograd::compute_requires_grad(scores)) {
    node = c10::make_intrusive<CrossEntropyBackward>();
    node->set_next_edges(torch::autograd::collect_next_edges(scores));
  }
  at::Tensor shares, loss;
  int64_t count = 0;
  {
    BelowAutograd quick;
    shares = at::empty_like(scores);
    const Batch batch{labels.const_data_ptr<int64_t>(), scores.size(0), scores.size(1), ignored};
    float mean = 0;
    std::tie(mean, count) =
        mean_loss(scores.const_data_ptr<float>(), shares.mutable_data_ptr<float>(), batch);
    loss = at::scalar_tensor(mean, scores.options());
  }
  if (!node) return loss;
  node->scores = SavedVariable(scores, false);
  node->labels = SavedVariable(labels, false);
  node->shares = SavedVariable(shares, false);
  node->ignored = ignored;
  node->count = count;
  torch::autograd::set_history(loss, node);
  return loss;
}

}  // namespace

extern "C" {

// The mean of the losses of the labels that are not `ignored`.
char* hrt_cross_entropy(const at::Tensor* scores, const at::Tensor* labels, int64_t ignored, at::Tensor** out) {
  return guarded([&] { *out = new at::Tensor(cross_entropy(*scores, *labels, ignored)); });
}

}  // extern "C"
