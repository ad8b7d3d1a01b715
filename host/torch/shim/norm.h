// What batch norms of one process and of several share.
#pragma once

#include <ATen/core/Tensor.h>

namespace hookrack {

// The tensors of a norm, and its numbers. The same fields stand in `host/torch/src/batch_norm.rs`.
struct Norm {
  const at::Tensor *weight, *bias, *running_mean, *running_var;
  double momentum, eps;
};

}  // namespace hookrack
