// Anomaly mode: autograd remembers where each node came from, and a backward pass that makes a NaN says which one did.
#include "shim.h"

#include <torch/csrc/autograd/anomaly_mode.h>

using namespace hookrack;

extern "C" {

// For the whole process: libtorch keeps one flag.
char* hrt_anomaly_mode(bool on) {
  return guarded([&] { torch::autograd::AnomalyMode::set_enabled(on, /*check_nan=*/true); });
}

}  // extern "C"
