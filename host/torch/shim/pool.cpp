// Max pooling by windows of 2x2 and the ReLU behind it as one node of the graph. Numbers and gradients are those of
// `max_pool2d` and `relu`; what goes is the index of 8 bytes for each number, and two passes over the larger gradient.
#include "pool_kernels.h"
#include "shim.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <string>
#include <utility>

using namespace hookrack;
using torch::autograd::Node;
using torch::autograd::variable_list;

namespace {

using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

// Where the windows of a batch are in memory. A run is the channels of one window in channels_last, a row of windows else.
struct Windows {
  int64_t pictures, rows, runs, length;
  int64_t step, right, below, picture;

  explicit Windows(at::IntArrayRef sizes, at::MemoryFormat format) {
    const int64_t batch = sizes[0], channels = sizes[1], height = sizes[2], width = sizes[3];
    const bool last = format == at::MemoryFormat::ChannelsLast;
    const int64_t pixel = last ? channels : 1;
    pictures = last ? batch : batch * channels;
    rows = height / 2;
    runs = last ? width / 2 : 1;
    length = last ? channels : width / 2;
    step = last ? 1 : 2;
    right = pixel;
    below = width * pixel;
    picture = height * below;
  }

  // Calls `body(input, output)` with the offsets of each run.
  template <class Body>
  void each(const Body& body) const {
    at::parallel_for(0, pictures, 1, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i)
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t run = 0; run < runs; ++run)
            body(i * picture + 2 * row * below + 2 * run * right, ((i * rows + row) * runs + run) * length);
    });
  }

  // The stretch of windows at each of these places.
  Run run() const { return {length, step, right}; }
};

template <class T>
void pool(const Windows& windows, const T* input, T* output, uint8_t* which) {
  windows.each([&](int64_t from, int64_t to) {
    const T* upper = input + from;
    pool_run(windows.run(), upper, upper + windows.below, output + to, which + to);
  });
}

template <class T>
void unpool(const Windows& windows, const T* grad, const uint8_t* which, T* input) {
  windows.each([&](int64_t from, int64_t to) {
    T* upper = input + from;
    unpool_run(windows.run(), grad + to, which + to, upper, upper + windows.below);
  });
}

struct MaxPoolReluBackward : Node {
  at::Tensor which;
  std::vector<int64_t> sizes;
  at::MemoryFormat format = at::MemoryFormat::Contiguous;

  std::string name() const override { return "MaxPoolReluBackward"; }

  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined()) return variable_list(1);
    TORCH_CHECK(which.defined(), torch::autograd::ERR_BACKWARD_TWICE);
    if (c10::GradMode::is_enabled()) return {recorded(grads[0])};
    BelowAutograd quick;
    const auto grad = grads[0].contiguous(format);
    // A last row or column that has no window keeps its zero.
    const bool covered = sizes[2] % 2 == 0 && sizes[3] % 2 == 0;
    const auto options = grad.options().memory_format(format);
    auto input = covered ? at::empty(sizes, options) : at::zeros(sizes, grad.options()).contiguous(format);
    AT_DISPATCH_FLOATING_TYPES(grad.scalar_type(), "max_pool_relu_backward", [&] {
      unpool(Windows(sizes, format), grad.const_data_ptr<scalar_t>(), which.const_data_ptr<uint8_t>(),
             input.mutable_data_ptr<scalar_t>());
    });
    return {input};
  }

  // By libtorch's own operators, for gradients that are differentiated themselves.
  at::Tensor recorded(const at::Tensor& grad) const {
    const auto at_row = at::arange(which.size(2), at::kLong).mul(2).view({-1, 1});
    const auto at_column = at::arange(which.size(3), at::kLong).mul(2);
    const auto corner = which.to(at::kLong);
    const auto row = at_row + corner.div(2, "floor"), column = at_column + corner.remainder(2);
    const auto none = which.eq(NONE);
    const auto index = at::where(none, 0, row * sizes[3] + column);
    return at::max_pool2d_with_indices_backward(at::where(none, 0, grad), at::empty(sizes, grad.options()), 2, 2, 0,
                                                1, false, index);
  }

  void release_variables() override { which.reset(); }
};

// Dense images on the CPU; everything else is left to libtorch. A traced graph must consist of its own operators.
bool is_plain(const at::Tensor& input) {
  return input.is_cpu() && input.dim() == 4 && input.numel() > 0 && input.size(2) > 1 && input.size(3) > 1 &&
         (input.scalar_type() == at::kFloat || input.scalar_type() == at::kDouble) &&
         input.is_contiguous(input.suggest_memory_format()) && !torch::jit::tracer::isTracing();
}

at::Tensor max_pool_relu(const at::Tensor& input) {
  if (!is_plain(input)) return at::relu(at::max_pool2d(input, 2));
  const auto format = input.suggest_memory_format();
  const std::vector<int64_t> pooled{input.size(0), input.size(1), input.size(2) / 2, input.size(3) / 2};
  at::Tensor output, which;
  {
    BelowAutograd quick;
    output = at::empty(pooled, input.options().memory_format(format));
    which = at::empty(pooled, input.options().dtype(at::kByte).memory_format(format));
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "max_pool_relu", [&] {
      pool(Windows(input.sizes(), format), input.const_data_ptr<scalar_t>(), output.mutable_data_ptr<scalar_t>(),
           which.mutable_data_ptr<uint8_t>());
    });
  }
  if (!torch::autograd::compute_requires_grad(input)) return output;
  auto node = c10::make_intrusive<MaxPoolReluBackward>();
  node->set_next_edges(torch::autograd::collect_next_edges(input));
  node->which = std::move(which);
  node->sizes = input.sizes().vec();
  node->format = format;
  torch::autograd::set_history(output, node);
  return output;
}

}  // namespace

extern "C" {

// `max(max_pool2d(input, 2), 0)`.
char* hrt_max_pool_relu(const at::Tensor* input, at::Tensor** out) {
  return guarded([&] { *out = new at::Tensor(max_pool_relu(*input)); });
}

}  // extern "C"
