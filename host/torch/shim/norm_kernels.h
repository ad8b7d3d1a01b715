// Batch normalization over images in channels_last, with the ReLU and the sum behind it.
#pragma once

#include <cstdint>

namespace hookrack {

// Numbers in a vector, and bits in a word of a mask.
constexpr int64_t LANES = 16;

// Of a batch in channels_last: all its pixels, one after the other.
struct Pixels {
  int64_t count, channels;

  // Vectors of channels in a pixel; each has one word of a mask.
  int64_t vectors() const { return (channels + LANES - 1) / LANES; }
};

// Whether there are kernels for this process.
bool has_norm_kernels() noexcept;

// The mean and the biased variance of each channel.
void channel_moments(const Pixels& pixels, const float* input, float* mean, float* var) noexcept;

// A number for each channel.
struct Line {
  const float *slope, *offset;
};

// `output = input * slope + offset + other`; negative numbers become 0 and lose their bit in `passed`, if that is not null. `other` may be null.
void normalize(const Pixels& pixels, const Line& line, const float* input, const float* other, float* output,
               uint16_t* passed) noexcept;

// A gradient of which only what `passed` counts, all of it if that is null.
struct PassedGrad {
  const float* grad;
  const uint16_t* passed;
};

// For each channel the sum of the gradient, and of its product with `input - mean`.
void grad_sums(const Pixels& pixels, const PassedGrad& grad, const float* input, const float* mean, float* sums,
               float* products) noexcept;

// For each channel what the gradient of the input is made of: `grad * grad_slope + (input - mean) * input_slope + offset`.
struct GradPlane {
  const float *grad_slope, *mean, *input_slope, *offset;
};

// The gradient of the input, and of `other` unless that is null. One of them may be where `grad` is.
void input_grads(const Pixels& pixels, const PassedGrad& grad, const GradPlane& plane, const float* input,
                 float* input_grad, float* other_grad) noexcept;

}  // namespace hookrack
