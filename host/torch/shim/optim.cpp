// One optimizer step over a whole group of parameters with libtorch's fused kernels.
#include "shim.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <sstream>
#include <stdexcept>
#include <string>

using namespace hookrack;

// The same fields stand in `host/torch/src/optim.rs`.
struct AdamHyper {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize, decoupled_decay;
};

struct SgdHyper {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
};

// What takes part in this step. Refilled each time, so the vectors keep their room.
struct Scratch {
  List params, grads, first, second, third, steps;

  void clear() {
    for (auto* list : {&params, &grads, &first, &second, &third, &steps}) list->clear();
  }
};

namespace {

std::string shape_of(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes();
  return text.str();
}

[[noreturn]] void refuse(const char* what, const at::Tensor& found, const at::Tensor& param) {
  throw std::runtime_error(std::string(what) + " of shape " + shape_of(found) +
                           " does not have the memory layout of its parameter of shape " + shape_of(param));
}

// The kernels walk raw memory: param, gradient and state must lie alike and without gaps.
bool alike(const at::Tensor& tensor, const at::Tensor& param) {
  return tensor.sizes() == param.sizes() && tensor.strides() == param.strides() &&
         tensor.scalar_type() == param.scalar_type() && tensor.device() == param.device();
}

const at::Tensor& state_of(const at::Tensor& state, const at::Tensor& param) {
  if (!alike(state, param)) refuse("optimizer state", state, param);
  return state;
}

// Autograd's gradients lie as their parameters; one that a hook put there may not, and is copied.
at::Tensor grad_of(const at::Tensor& param) {
  const auto& grad = param.grad();
  if (!param.is_non_overlapping_and_dense()) refuse("a tensor that is not dense", param, param);
  if (alike(grad, param)) return grad;
  if (grad.sizes() != param.sizes()) refuse("a gradient", grad, param);
  auto copy = at::empty_like(param);
  copy.copy_(grad);
  return copy;
}

void count_step(const List& steps) {
  bool on_cpu = true;
  for (const auto& step : steps) {
    if (step.numel() != 1) throw std::runtime_error("a step counter is one number, found " + shape_of(step));
    on_cpu = on_cpu && step.is_cpu();
  }
  if (!on_cpu) return at::_foreach_add_(steps, 1);
  for (const auto& step : steps) *step.mutable_data_ptr<float>() += 1.0F;
}

void adam(const List& params, const List& avg, const List& sq, const List& max_sq, const List& steps,
          Scratch& now, const AdamHyper& h) {
  now.clear();
  for (size_t i = 0; i < params.size(); ++i) {
    if (!params[i].grad().defined()) continue;
    now.params.push_back(params[i]);
    now.grads.push_back(grad_of(params[i]));
    now.first.push_back(state_of(avg[i], params[i]));
    now.second.push_back(state_of(sq[i], params[i]));
    if (h.amsgrad) now.third.push_back(state_of(max_sq[i], params[i]));
    now.steps.push_back(steps[i]);
  }
  if (now.params.empty()) return;
  count_step(now.steps);
  auto step = [&](auto kernel) {
    kernel(now.params, now.grads, now.first, now.second, now.third, now.steps, h.lr, h.beta1, h.beta2,
           h.weight_decay, h.eps, h.amsgrad, h.maximize);
  };
  if (h.decoupled_decay) {
    step([](auto&&... args) { at::_fused_adamw_(args...); });
  } else {
    step([](auto&&... args) { at::_fused_adam_(args...); });
  }
}

// Momentum buffers do not exist before a parameter's first step, which writes the gradient into them:
// `first` says which parameters this call is for.
void sgd(const List& params, List& buffers, Scratch& now, const SgdHyper& h, bool first) {
  now.clear();
  bool momentum = h.momentum != 0.0;
  for (size_t i = 0; i < params.size(); ++i) {
    if (!params[i].grad().defined() || (momentum && buffers[i].defined() == first)) continue;
    now.params.push_back(params[i]);
    now.grads.push_back(grad_of(params[i]));
    if (!momentum) continue;
    if (first) buffers[i] = at::zeros_like(params[i]);
    now.first.push_back(state_of(buffers[i], params[i]));
  }
  if (now.params.empty()) return;
  at::_fused_sgd_(now.params, now.grads, now.first, h.weight_decay, h.momentum, h.lr, h.dampening,
                  h.nesterov, h.maximize, first);
}

// A step counter: one number, whatever the parameter's shape and type.
bool is_counter(const at::Tensor& state) { return state.dim() == 0; }

}  // namespace

extern "C" {

// Refills `active` and `grads` with the parameters that have a gradient, and their gradients.
char* hrt_gather(const List* params, List* active, List* grads) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    active->clear();
    grads->clear();
    for (const auto& param : *params) {
      if (!param.grad().defined()) continue;
      active->push_back(param);
      grads->push_back(grad_of(param));
    }
  });
}

// Refills `active` with the state of the parameters that have a gradient. Both lists are of one length.
char* hrt_gather_state(const List* params, const List* state, List* active) {
  return guarded([&] {
    active->clear();
    for (size_t i = 0; i < params->size(); ++i) {
      const auto& param = (*params)[i];
      const auto& its = (*state)[i];
      if (param.grad().defined()) active->push_back(is_counter(its) ? its : state_of(its, param));
    }
  });
}

Scratch* hrt_scratch_new() noexcept { return new Scratch(); }

void hrt_scratch_free(Scratch* scratch) noexcept { delete scratch; }

char* hrt_adam_step(const List* params, const List* avg, const List* sq, const List* max_sq,
                    const List* steps, Scratch* scratch, const AdamHyper* hyper) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    adam(*params, *avg, *sq, *max_sq, *steps, *scratch, *hyper);
    scratch->clear();
  });
}

char* hrt_sgd_step(const List* params, List* buffers, Scratch* scratch, const SgdHyper* hyper) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    sgd(*params, *buffers, *scratch, *hyper, false);
    if (hyper->momentum != 0.0) sgd(*params, *buffers, *scratch, *hyper, true);
    scratch->clear();
  });
}

}  // extern "C"
