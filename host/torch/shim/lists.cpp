// Lists of tensors, built once and reused, and what is done to a whole list in one crossing.
#include "shim.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <memory>
#include <stdexcept>
#include <string>

using namespace hookrack;

namespace {

void same_length(const List& left, const List& right) {
  if (left.size() != right.size()) {
    throw std::runtime_error("lists differ in length: " + std::to_string(left.size()) + " and " +
                             std::to_string(right.size()));
  }
}

// One norm over everything in the list, as a 0-dim tensor: no value is read, so nothing waits for a device.
at::Tensor total_norm(const List& list, double p) {
  if (list.empty()) return at::zeros({});
  auto norms = at::_foreach_norm(list, p);
  for (auto& norm : norms) norm = norm.to(norms[0].options());
  return at::linalg_vector_norm(at::stack(norms), p);
}

}  // namespace

extern "C" {

List* hrt_list_new(size_t room) noexcept {
  auto* list = new List();
  list->reserve(room);
  return list;
}

void hrt_list_free(List* list) noexcept { delete list; }

size_t hrt_list_len(const List* list) noexcept { return list->size(); }

void hrt_list_push(List* list, const at::Tensor* tensor) noexcept { list->push_back(*tensor); }

void hrt_list_clear(List* list) noexcept { list->clear(); }

// Borrowed: valid until the list changes. Null when `index` is past the end.
at::Tensor* hrt_list_at(List* list, size_t index) noexcept {
  return index < list->size() ? &(*list)[index] : nullptr;
}

// Refills `out` with the gradients of `params` that are defined, in order.
char* hrt_list_grads(const List* params, List* out) {
  return guarded([&] {
    out->clear();
    for (const auto& param : *params) {
      if (param.grad().defined()) out->push_back(param.grad());
    }
  });
}

char* hrt_list_clear_grads(const List* params) {
  return guarded([&] {
    for (const auto& param : *params) param.mutable_grad().reset();
  });
}

// Gives each part its range of the gradient of the whole that it belongs to: from `starts` on, in row-major order. A whole without
// a gradient leaves its part without one.
char* hrt_list_slice_grads(const List* wholes, const List* parts, const int64_t* starts) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    for (size_t index = 0; index < wholes->size(); ++index) {
      const at::Tensor& grad = (*wholes)[index].grad();
      const at::Tensor& part = (*parts)[index];
      if (grad.defined()) {
        part.mutable_grad() = grad.reshape({-1}).narrow(0, starts[index], part.numel());
      } else {
        part.mutable_grad().reset();
      }
    }
  });
}

char* hrt_list_norm(const List* list, double p, at::Tensor** out) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    *out = new at::Tensor(total_norm(*list, p));
  });
}

char* hrt_list_mul_scalar(const List* list, double factor) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    if (!list->empty()) at::_foreach_mul_(*list, factor);
  });
}

char* hrt_list_mul_tensor(const List* list, const at::Tensor* factor) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    if (!list->empty()) at::_foreach_mul_(*list, *factor);
  });
}

char* hrt_list_zero(const List* list) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    if (!list->empty()) at::_foreach_zero_(*list);
  });
}

char* hrt_list_lerp(const List* list, const List* toward, double weight) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    same_length(*list, *toward);
    if (!list->empty()) at::_foreach_lerp_(*list, *toward, weight);
  });
}

char* hrt_list_copy(const List* list, const List* source) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    same_length(*list, *source);
    if (!list->empty()) at::_foreach_copy_(*list, *source);
  });
}

char* hrt_list_clone_detached(const List* list, List** out) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    auto copy = std::make_unique<List>();
    copy->reserve(list->size());
    for (const auto& tensor : *list) copy->push_back(tensor.detach().clone());
    *out = copy.release();
  });
}

}  // extern "C"
