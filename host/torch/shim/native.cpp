// Whether our own kernels are used.
#include "native.h"

#include <ATen/Parallel.h>

#include <atomic>

namespace {

std::atomic<bool> is_requested{false};

}  // namespace

bool hookrack::uses_native_kernels() noexcept {
#ifdef HAS_NATIVE_KERNELS
  return is_requested.load(std::memory_order_relaxed) && at::get_num_threads() == 1;
#else
  return false;
#endif
}

extern "C" {

// The CPU must have AVX-512 (F, VL, DQ and BW).
void hrt_use_native_kernels(bool use) noexcept { is_requested.store(use, std::memory_order_relaxed); }

}  // extern "C"
