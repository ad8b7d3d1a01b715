// Kernels for linear layers, in AVX-512: see small_linear.cpp.
#pragma once

#include <cstdint>

namespace hookrack {

struct LinearShape {
  int64_t rows, inputs, outputs;
};

// Whether the kernel is used, and is the faster one for products of this shape.
bool is_small_linear(const LinearShape& shape) noexcept;

// `output = max(input weightᵀ + bias, 0)`, or without the maximum; all are contiguous.
void small_linear(const float* input, const float* weight, const float* bias, float* output,
                  const LinearShape& shape, bool relu) noexcept;

// The gradient of the output of a layer: contiguous rows, one number for each output.
struct OutputGrad {
  const float* grad;
  int64_t rows, outputs;
};

// `sums` are those of each output over the rows, the gradient of the bias. Unless `rectified`, the output of ReLU, is null, only the gradient
// of its positive numbers counts, which is written to `passed`.
void bias_grads(const OutputGrad& of, const float* rectified, float* passed, float* sums) noexcept;

}  // namespace hookrack
