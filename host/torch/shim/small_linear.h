// Small products with a weight, in AVX-512: see small_linear.cpp.
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

}  // namespace hookrack
