// Mixed precision: autocast for the calling thread, and gradients of a scaled loss brought back to their size.
#include "shim.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

// As ATen/autocast_mode.h declares them; that header brings in every operator and a minute of compilation.
namespace at::autocast {
TORCH_API bool is_autocast_enabled(at::DeviceType device_type);
TORCH_API void set_autocast_enabled(at::DeviceType device_type, bool enabled);
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
TORCH_API void set_autocast_dtype(at::DeviceType device_type, at::ScalarType dtype);
TORCH_API void clear_cache();
TORCH_API int increment_nesting();
TORCH_API int decrement_nesting();
}  // namespace at::autocast

using namespace hookrack;

// What autocast was before; the same fields stand in `host/torch/src/amp.rs`.
struct AutocastBefore {
  int32_t dtype;
  bool enabled;
};

namespace {

at::DeviceType device_type(bool cuda) { return cuda ? at::kCUDA : at::kCPU; }

bool alike(const at::Tensor& left, const at::Tensor& right) {
  return left.scalar_type() == right.scalar_type() && left.device() == right.device();
}

// The kernels take tensors of one type on one device.
bool unscale_alike(at::TensorList grads, double factor) {
  auto options = grads[0].options().dtype(at::kFloat);
  auto found_inf = at::zeros({}, options);
  at::_amp_foreach_non_finite_check_and_unscale_(grads, found_inf, at::full({}, factor, options));
  return found_inf.item<float>() != 0.0F;
}

}  // namespace

extern "C" {

char* hrt_autocast_enter(bool cuda, bool half, AutocastBefore* before) {
  return guarded([&] {
    auto device = device_type(cuda);
    *before = {static_cast<int32_t>(at::autocast::get_autocast_dtype(device)),
               at::autocast::is_autocast_enabled(device)};
    at::autocast::set_autocast_dtype(device, half ? at::kHalf : at::kBFloat16);
    at::autocast::set_autocast_enabled(device, true);
    at::autocast::increment_nesting();
  });
}

// The casts of weights that were kept for reuse belong to one forward pass: the next step has other weights.
char* hrt_autocast_leave(bool cuda, const AutocastBefore* before) {
  return guarded([&] {
    auto device = device_type(cuda);
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device, before->enabled);
    at::autocast::set_autocast_dtype(device, static_cast<at::ScalarType>(before->dtype));
  });
}

// Multiplies every gradient by `factor`; `found_inf` says whether one of them was not finite, and so waits for
// the device.
char* hrt_list_unscale(const List* grads, double factor, bool* found_inf) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    at::TensorList all(*grads);
    *found_inf = false;
    for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      while (end < all.size() && alike(all[begin], all[end])) ++end;
      *found_inf = unscale_alike(all.slice(begin, end - begin), factor) || *found_inf;
    }
  });
}

}  // extern "C"
